//! Resource URIs of pages: `gbrain://page/{source}/{slug}`.
//!
//! Every page has exactly one URI. All characters of a slug except unreserved ones and slashes are
//! percent-encoded.

use gbrain_core::id::{PageKey, Slug, SourceId};

const PREFIX: &str = "gbrain://page/";

/// URI template (RFC 6570: `+` keeps the slashes).
pub(super) const TEMPLATE: &str = "gbrain://page/{source}/{+slug}";

pub(super) fn of(key: &PageKey) -> String {
    let mut address = format!("{PREFIX}{}/", key.source);
    for byte in key.slug.as_str().bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            address.push(char::from(byte));
        } else {
            address.push_str(&format!("%{byte:02X}"));
        }
    }
    address
}

/// The page of a URI; `None` if it is not the URI of a page.
pub(super) fn page(address: &str) -> Option<PageKey> {
    let (source, slug) = address.strip_prefix(PREFIX)?.split_once('/')?;
    Some(PageKey::new(SourceId::new(source).ok()?, Slug::new(&unescape(slug)?).ok()?))
}

fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let (digits, after) = after.split_at_checked(2)?;
            if !digits.iter().all(u8::is_ascii_hexdigit) {
                return None;
            }
            let digits = std::str::from_utf8(digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after;
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_back_to_its_page() {
        let check = |key: &str, expected: &str| {
            let key = PageKey::parse(key, &SourceId::default()).unwrap();
            assert_eq!(of(&key), expected);
            assert_eq!(page(expected), Some(key));
        };
        check("wiki::people/ada-quill", "gbrain://page/wiki/people/ada-quill");
        check("notes::a b/50% ü?#::x", "gbrain://page/notes/a%20b/50%25%20%C3%BC%3F%23%3A%3Ax");
    }

    #[test]
    fn escaped_slashes_are_slashes() {
        assert_eq!(page("gbrain://page/wiki/people%2Fada"), page("gbrain://page/wiki/people/ada"));
    }

    #[test]
    fn invalid_page_addresses_are_refused() {
        for bad in [
            "",
            "file:///etc/passwd",
            "gbrain://page/",
            "gbrain://page/wiki",
            "gbrain://page/wiki/",
            "gbrain://page/Wiki/a",
            "gbrain://page/wiki/../a",
            "gbrain://page/wiki/%2e%2e/a",
            "gbrain://page/wiki/a%",
            "gbrain://page/wiki/a%2",
            "gbrain://page/wiki/a%+1",
            "gbrain://page/wiki/%FF",
            "gbrain://page/wiki/a%00",
        ] {
            assert_eq!(page(bad), None, "{bad}");
        }
    }
}
