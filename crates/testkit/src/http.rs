//! A caller over HTTP/1.1: one connection that is kept, one request at a time.
//!
//! It blocks, so that a thread is a caller, and does little, so that its own work hardly counts
//! beside the server's. An answer is read whole; one that comes in chunks, as events do, is read
//! until the server ends it.
//!
//! Deliberately absent: TLS, redirects, retries.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Longer than any answer may take on a busy machine: past this the server hangs.
const PATIENCE: Duration = Duration::from_secs(90);

#[derive(Debug)]
pub struct Caller {
    stream: BufReader<TcpStream>,
    host: String,
    /// Header lines that every request has beside the usual ones.
    headers: String,
    request: Vec<u8>,
}

#[derive(Debug, Default)]
pub struct Answer {
    pub status: u16,
    /// When to come back, in seconds, if the server said so.
    pub retry_after: Option<u64>,
    pub body: Vec<u8>,
    length: Option<usize>,
    is_chunked: bool,
}

impl Caller {
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        Self::over(TcpStream::connect(address)?, address, PATIENCE)
    }

    /// Connects, and gives an answer so long at most.
    pub fn connect_within(address: SocketAddr, timeout: Duration) -> io::Result<Self> {
        Self::over(TcpStream::connect_timeout(&address, timeout)?, address, timeout)
    }

    fn over(stream: TcpStream, address: SocketAddr, timeout: Duration) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        let stream = BufReader::with_capacity(64 << 10, stream);
        let host = address.to_string();
        Ok(Self { stream, host, headers: String::new(), request: Vec::new() })
    }

    /// Shows this token with every request.
    pub fn set_token(&mut self, token: &str) {
        self.headers = format!("authorization: Bearer {token}\r\n");
    }

    /// Takes gzip, as browsers do. Bodies stay packed.
    pub fn accept_gzip(&mut self) {
        self.headers.push_str("accept-encoding: gzip\r\n");
    }

    pub fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.call("GET", path, &[])
    }

    pub fn send(&mut self, method: &str, path: &str, body: &Value) -> io::Result<Answer> {
        self.call(method, path, body.to_string().as_bytes())
    }

    /// Sends a request; a body that is not empty is JSON.
    pub fn call(&mut self, method: &str, path: &str, body: &[u8]) -> io::Result<Answer> {
        self.call_with_type(method, path, "application/json", body)
    }

    /// Sends a request whose body, if it is not empty, has this content type.
    pub fn call_with_type(
        &mut self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &[u8],
    ) -> io::Result<Answer> {
        let Self { stream, host, headers, request } = self;
        request.clear();
        write!(request, "{method} {path} HTTP/1.1\r\nhost: {host}\r\n{headers}")?;
        write!(request, "accept: application/json, text/event-stream\r\n")?;
        if !body.is_empty() {
            write!(request, "content-type: {content_type}\r\n")?;
        }
        write!(request, "content-length: {}\r\n\r\n", body.len())?;
        request.extend_from_slice(body);
        // One write, so that one packet holds the whole of a small request.
        stream.get_mut().write_all(request)?;
        read_answer(stream)
    }
}

impl Answer {
    /// The body as a JSON document; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn header(&mut self, line: &str) {
        let Some((name, value)) = line.split_once(':') else { return };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => self.length = value.parse().ok(),
            "transfer-encoding" => self.is_chunked = value.eq_ignore_ascii_case("chunked"),
            "retry-after" => self.retry_after = value.parse().ok(),
            _ => {}
        }
    }
}

fn read_answer(stream: &mut BufReader<TcpStream>) -> io::Result<Answer> {
    let mut line = String::new();
    let status = read_line(stream, &mut line)?.split(' ').nth(1).and_then(|code| code.parse().ok());
    let mut answer = Answer { status: status.ok_or_else(|| strange(&line))?, ..Answer::default() };
    while !read_line(stream, &mut line)?.is_empty() {
        answer.header(&line);
    }
    if answer.is_chunked {
        read_chunks(stream, &mut answer.body)?;
    } else {
        read_exactly(stream, answer.length.unwrap_or(0), &mut answer.body)?;
    }
    Ok(answer)
}

fn read_chunks(stream: &mut BufReader<TcpStream>, body: &mut Vec<u8>) -> io::Result<()> {
    let mut line = String::new();
    loop {
        let size = read_line(stream, &mut line)?.split(';').next().unwrap_or_default();
        let size = usize::from_str_radix(size.trim(), 16).map_err(|_| strange(&line))?;
        read_exactly(stream, size, body)?;
        read_line(stream, &mut line)?;
        if size == 0 {
            return Ok(());
        }
    }
}

fn read_exactly(
    stream: &mut BufReader<TcpStream>,
    length: usize,
    body: &mut Vec<u8>,
) -> io::Result<()> {
    let begun = body.len();
    body.resize(begun + length, 0);
    stream.read_exact(&mut body[begun..])
}

/// The next line, without its end.
fn read_line<'a>(stream: &mut BufReader<TcpStream>, line: &'a mut String) -> io::Result<&'a str> {
    line.clear();
    if stream.read_line(line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(line)
}

fn strange(line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not HTTP: {line:?}"))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn check(sent: &'static str, expected: &[(u16, Option<u64>, &str)]) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let count = expected.len();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            for part in sent.split('|').take(count) {
                assert!(stream.read(&mut request).unwrap() > 0);
                stream.write_all(part.as_bytes()).unwrap();
            }
        });
        let mut caller = Caller::connect(address).unwrap();
        for (status, retry_after, body) in expected {
            let answer = caller.call("POST", "/", b"{}").unwrap();
            let found = (answer.status, answer.retry_after, answer.text());
            assert_eq!(found, (*status, *retry_after, (*body).to_owned()));
        }
        server.join().unwrap();
        assert!(caller.get("/").is_err(), "a connection that was closed");
    }

    #[test]
    fn answers_follow_each_other_on_one_connection() {
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}\
             |HTTP/1.1 429 Too Many Requests\r\nretry-after: 3\r\ncontent-length: 0\r\n\r\n\
             |HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nab\r\n\r\nb\r\n0123456789\n\r\n0\r\n\r\n",
            &[(200, None, "{}"), (429, Some(3), ""), (200, None, "ab\r\n0123456789\n")],
        );
    }
}
