//! Addresses on loopback that are down, each in its own way.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outage {
    /// Nothing listens on the port.
    Refusing,
    /// It takes connections and never answers.
    Hanging,
    /// It answers every request with 500.
    Failing,
}

impl Outage {
    pub const ALL: [Self; 3] = [Self::Refusing, Self::Hanging, Self::Failing];

    /// The outage in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refusing => "refuses connections",
            Self::Hanging => "never answers",
            Self::Failing => "fails with 500",
        }
    }

    /// The URL of an address that is down in this way until the process ends.
    pub fn address(self) -> std::io::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}", listener.local_addr()?);
        if self != Self::Refusing {
            std::thread::spawn(move || self.serve(&listener));
        }
        Ok(address)
    }

    fn serve(self, listener: &TcpListener) {
        let mut open = Vec::new();
        for stream in listener.incoming().flatten() {
            if self == Self::Failing {
                std::thread::spawn(move || fail(stream));
            } else {
                open.push(stream);
            }
        }
    }
}

/// Reads a request whole and answers with 500.
fn fail(mut stream: TcpStream) {
    let (mut seen, mut part) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = stream.read(&mut part) {
        seen.extend_from_slice(&part[..read]);
        if is_whole(&seen) {
            break;
        }
    }
    let answer = "HTTP/1.1 500 Oops\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    // A caller that is gone needs no answer.
    let _ = stream.write_all(answer.as_bytes());
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some(head) = text.find("\r\n\r\n") else { return false };
    let length = text.split("content-length:").nth(1).and_then(|rest| rest.lines().next());
    let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
    request.len() >= head + 4 + length
}
