//! The families as regular expressions, for measuring against tools that take those.
//!
//! They match what the families match up to what a regular expression cannot say: check digits,
//! lengths by country, boundaries that look around, words nearby.

use super::ScrubFamily;

/// A regular expression for a family, in the syntax of the `regex` crate; none for the user's own.
pub fn pattern(family: ScrubFamily) -> Option<&'static str> {
    Some(match family {
        ScrubFamily::Email => r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}",
        ScrubFamily::Phone => {
            r"(?:\+[0-9]{1,3}[ \t.-]?)?(?:\([0-9]{3}\)[ \t.-]?|(?-u:\b)[0-9]{3}[ \t.-])[0-9]{3}[ \t.-]?[0-9]{4}(?-u:\b)"
        }
        ScrubFamily::Ssn => r"(?-u:\b)[0-9]{3}[ .-][0-9]{2}[ .-][0-9]{4}(?-u:\b)",
        ScrubFamily::Jwt => r"(?-u:\b)eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
        ScrubFamily::Bearer => r"(?-u:\b)(?i:bearer)[ \t\r\n]+[A-Za-z0-9._~+/=-]{10,}",
        ScrubFamily::Card => r"(?-u:\b)[0-9](?:[ .-]?[0-9]){12,18}(?-u:\b)",
        ScrubFamily::CardMaestro => {
            r"(?-u:\b)(?:50[123][08]|5[678][0-9]{2}|6304|6390|676[123]|6759|0604)[0-9]{8}(?-u:\b)"
        }
        ScrubFamily::ApiKey => KEYS,
        ScrubFamily::Secret => {
            r#"(?i:passw(?:or)?d|passphrase|pwd|secret|api[_-]?key|(?:access|secret|private)[_-]?key|token)["'`]?[ \t]*[=:][=>]?[ \t]*["'`]?[^\s"'`,;&<>()\[\]{}|$%*/][^\s"'`,;&<>()\[\]{}|]{7,}"#
        }
        ScrubFamily::PrivateKey => {
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----[A-Za-z0-9+/= \t\r\n\\:,.-]*"
        }
        ScrubFamily::ConnectionString => {
            r#"[A-Za-z0-9+.-]+://[^\s/?#:"'`<>]*:[^\s/?#"'`<>]+@[^\s/?#"'`<>]+"#
        }
        ScrubFamily::Iban => {
            r"(?-u:\b)[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]{4}){2,7}(?:[ -]?[A-Za-z0-9]{1,3})?(?-u:\b)"
        }
        ScrubFamily::IpAddress => {
            r"(?-u:\b)(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?-u:\b)|(?-u:\b)[0-9A-Fa-f]{3,4}(?::{1,2}[0-9A-Fa-f]{1,4}){1,7}(?-u:\b)"
        }
        ScrubFamily::PhoneInternational => {
            r"(?:\+|(?-u:\b)00)[1-9][0-9]{0,2}(?:[ ./-]?\(?[0-9]{1,12}\)?){1,7}(?-u:\b)"
        }
        ScrubFamily::PhoneNational => {
            r"(?-u:\b)0[1-9][0-9]{0,4}(?:[ ./-][0-9]{2,7}){1,4}(?-u:\b)|\([0-9]{2,5}\)[ -]?[0-9]{3,4}(?:[ -][0-9]{3,4})(?-u:\b)"
        }
        ScrubFamily::EmailUnicode => r"[\pL\pM\pN._%+-]+@[\pL\pM\pN.-]+\.[\pL\pM]{2,}",
        ScrubFamily::Custom => return None,
    })
}

const KEYS: &str = r"(?-u:\b)(?:(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|A3T[A-Z0-9])[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}|gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-[A-Za-z0-9_-]{20,}|GR1348941[A-Za-z0-9_-]{20,50}|xox[baprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/[A-Za-z0-9/]{30,}|discord(?:app)?\.com/api/webhooks/[A-Za-z0-9/_-]{60,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}|sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{20,}|(?:Account|SharedAccess)Key=[A-Za-z0-9+/=]{40,96}|sk-(?:ant|proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9]{32,128}|gsk_[A-Za-z0-9]{32,128}|xai-[A-Za-z0-9]{64,128}|pplx-[A-Za-z0-9]{32,128}|hf_[A-Za-z0-9]{30,64}|r8_[A-Za-z0-9]{37}|npm_[A-Za-z0-9]{36}|pypi-AgE[A-Za-z0-9_-]{85,}|rubygems_[0-9a-f]{48}|dckr_pat_[A-Za-z0-9_-]{27,}|AKC[A-Za-z0-9]{10,}|AP[0-9A-F][A-Za-z0-9]{10,}|sq[pu]_[0-9a-f]{40}|SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}|xkeysib-[A-Za-z0-9-]{64,}|key-[0-9a-f]{32}|(?:AC|SK)[a-z0-9]{32}|do[op]_v1_[0-9a-f]{64}|dapi[0-9a-f]{32}|hvs\.[A-Za-z0-9_-]{24,}|HRKU-[A-Za-z0-9_-]{36,64}|lin_api_[A-Za-z0-9]{40}|ntn_[A-Za-z0-9]{40,64}|PMAK-[A-Za-z0-9-]{59}|figd_[A-Za-z0-9_-]{40,64}|glsa_[A-Za-z0-9_]{41}|NRAK-[A-Z0-9]{27}|ATATT3[A-Za-z0-9_-]{100,}|tskey-[A-Za-z0-9-]{20,64}|pul-[0-9a-f]{40}|sbp_[0-9a-f]{40}|nfp_[A-Za-z0-9]{36,64}|pscale_tkn_[A-Za-z0-9_-]{32,64}|[0-9]{8,10}:[A-Za-z0-9_-]{35}|[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}|[0-9a-f]{32}-us[0-9]{1,2})(?-u:\b)";
