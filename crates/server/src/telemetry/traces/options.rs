//! Tracing options from a flag and the OpenTelemetry environment variables.

use std::fmt;

use axum::http::{HeaderName, HeaderValue, Uri};

#[derive(Clone, PartialEq, Eq)]
pub struct TraceOptions {
    /// The complete URL that batches are posted to.
    pub endpoint: String,
    /// Headers to send. Their values are secrets.
    pub headers: Vec<(String, String)>,
    pub service_name: String,
    /// Additional resource attributes, such as the deployment environment.
    pub attributes: Vec<(String, String)>,
    /// Whether spans contain the query text and page names.
    pub include_content: bool,
}

impl fmt::Debug for TraceOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { endpoint, headers, service_name, attributes, include_content } = self;
        let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("TraceOptions")
            .field("endpoint", endpoint)
            .field("headers", &names)
            .field("service_name", service_name)
            .field("attributes", attributes)
            .field("include_content", include_content)
            .finish()
    }
}

/// Why spans cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error(
        "{from} is not a valid OTLP endpoint; use `http://host:4318` or `https://…`, with \
         passwords in OTEL_EXPORTER_OTLP_HEADERS"
    )]
    Endpoint {
        /// The flag or variable with the invalid value.
        from: &'static str,
    },
    #[error("{from} is not a comma-separated list of `name=value` pairs")]
    Pairs {
        /// The variable with the invalid value.
        from: &'static str,
    },
    /// The exporter cannot be created.
    #[error("the span exporter cannot be created")]
    Exporter(#[source] Box<dyn std::error::Error + Send + Sync>),
}

const FLAG: &str = "the endpoint for spans";
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES_HEADERS: &str = "OTEL_EXPORTER_OTLP_TRACES_HEADERS";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const PATH: &str = "/v1/traces";

/// Resolves the options: `None` if no endpoint is configured or the environment disables
/// OpenTelemetry. A flag overrides the variables; the variable for traces overrides the one for all
/// signals.
pub fn resolve(
    flag: Option<&str>,
    include_content: bool,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Option<TraceOptions>, TraceError> {
    let set = |name: &str| env(name).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
    let Some(endpoint) = endpoint(flag, &set)? else { return Ok(None) };
    let headers = match set(TRACES_HEADERS) {
        Some(text) => pairs(TRACES_HEADERS, &text)?,
        None => pairs(HEADERS, &set(HEADERS).unwrap_or_default())?,
    };
    if !headers.iter().all(is_a_header) {
        return Err(TraceError::Pairs { from: HEADERS });
    }
    let resource = "OTEL_RESOURCE_ATTRIBUTES";
    let mut attributes = pairs(resource, &set(resource).unwrap_or_default())?;
    let named = attributes.iter().position(|(name, _)| name == "service.name");
    let named = named.map(|at| attributes.remove(at).1);
    let service_name = set("OTEL_SERVICE_NAME").or(named).unwrap_or_else(|| "gbrain".to_owned());
    Ok(Some(TraceOptions { endpoint, headers, service_name, attributes, include_content }))
}

fn endpoint(
    flag: Option<&str>,
    set: &impl Fn(&str) -> Option<String>,
) -> Result<Option<String>, TraceError> {
    if let Some(flag) = flag {
        let bare = address(FLAG, flag)?.path().trim_matches('/').is_empty();
        return Ok(Some(if bare { under(flag) } else { flag.to_owned() }));
    }
    let is_off = |name: &str, off: &str| set(name).is_some_and(|v| v.eq_ignore_ascii_case(off));
    if is_off("OTEL_SDK_DISABLED", "true") || is_off("OTEL_TRACES_EXPORTER", "none") {
        return Ok(None);
    }
    if let Some(traces) = set(TRACES_ENDPOINT) {
        address(TRACES_ENDPOINT, &traces)?;
        return Ok(Some(traces));
    }
    let Some(all) = set(ENDPOINT) else { return Ok(None) };
    address(ENDPOINT, &all)?;
    Ok(Some(under(&all)))
}

/// The traces path under a base URL.
fn under(base: &str) -> String {
    format!("{}{PATH}", base.trim_end_matches('/'))
}

fn address(from: &'static str, text: &str) -> Result<Uri, TraceError> {
    let wrong = || TraceError::Endpoint { from };
    let uri: Uri = text.parse().map_err(|_| wrong())?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    let host = uri.authority().map_or("", |authority| authority.as_str());
    if is_web && !host.is_empty() && !host.contains('@') { Ok(uri) } else { Err(wrong()) }
}

/// Parses `a=1,b=2`; names and values may be percent-encoded.
fn pairs(from: &'static str, text: &str) -> Result<Vec<(String, String)>, TraceError> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=')?;
            Some((decoded(name.trim())?, decoded(value.trim())?)).filter(|(n, _)| !n.is_empty())
        })
        .collect::<Option<_>>()
        .ok_or(TraceError::Pairs { from })
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => hex(rest.next()?)? << 4 | hex(rest.next()?)?,
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn is_a_header((name, value): &(String, String)) -> bool {
    HeaderName::try_from(name).is_ok() && HeaderValue::try_from(value).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(
        flag: Option<&str>,
        env: &[(&str, &str)],
    ) -> Result<Option<TraceOptions>, TraceError> {
        let find = |name: &str| env.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string());
        resolve(flag, false, find)
    }

    #[track_caller]
    fn check_endpoint(flag: Option<&str>, env: &[(&str, &str)], expected: Option<&str>) {
        let found = resolved(flag, env).expect("it can be read").map(|options| options.endpoint);
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn tracing_is_off_by_default() {
        check_endpoint(None, &[], None);
        check_endpoint(None, &[(ENDPOINT, " ")], None);
        check_endpoint(None, &[(HEADERS, "a=b")], None);
        check_endpoint(None, &[(ENDPOINT, "http://h"), ("OTEL_SDK_DISABLED", "True")], None);
        check_endpoint(None, &[(ENDPOINT, "http://h"), ("OTEL_TRACES_EXPORTER", "none")], None);
    }

    #[test]
    fn a_flag_wins_and_a_base_gets_its_path() {
        check_endpoint(None, &[(ENDPOINT, "http://h:4318/")], Some("http://h:4318/v1/traces"));
        check_endpoint(None, &[(ENDPOINT, "http://h/otel")], Some("http://h/otel/v1/traces"));
        let both = [(ENDPOINT, "http://h"), (TRACES_ENDPOINT, "https://t/x")];
        check_endpoint(None, &both, Some("https://t/x"));
        check_endpoint(Some("http://f:1"), &both, Some("http://f:1/v1/traces"));
        check_endpoint(Some("http://f:1/"), &both, Some("http://f:1/v1/traces"));
        check_endpoint(Some("http://f/in"), &both, Some("http://f/in"));
    }

    #[test]
    fn headers_and_names_come_along() {
        let env = [
            (HEADERS, "authorization=Basic%20YTpi, x=1"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a,deployment.environment.name=prod"),
        ];
        let options = resolved(Some("http://h"), &env).expect("reads").expect("is on");
        assert_eq!(options.headers[0], ("authorization".into(), "Basic YTpi".into()));
        assert_eq!(options.headers[1], ("x".into(), "1".into()));
        assert_eq!(options.service_name, "a");
        assert_eq!(options.attributes, [("deployment.environment.name".into(), "prod".into())]);
        assert!(!format!("{options:?}").contains("YTpi"));
        let traces = [env[0], env[1], (TRACES_HEADERS, "y=2"), ("OTEL_SERVICE_NAME", "b")];
        let options = resolved(Some("http://h"), &traces).expect("reads").expect("is on");
        assert_eq!(options.headers, [("y".into(), "2".into())]);
        assert_eq!(options.service_name, "b");
    }

    #[test]
    fn invalid_options_are_named_without_secrets() {
        let wrong = |flag, env: &[(&str, &str)]| {
            resolved(flag, env).expect_err("it can't be read").to_string()
        };
        for bad in ["localhost:4318", "ftp://h", "http://", "/x", "http://u:s3cret@h", "grpc://h"] {
            let said = wrong(Some(bad), &[]);
            assert!(said.starts_with(FLAG) && !said.contains("s3cret"), "{bad}: {said}");
        }
        for bad in ["s3cret", "=s3cret", "a=%zz", "a b=s3cret", "a=s3%0Acret"] {
            let said = wrong(Some("http://h"), &[(HEADERS, bad)]);
            assert!(said.starts_with(HEADERS) && !said.contains("s3cret"), "{bad}: {said}");
        }
    }
}
