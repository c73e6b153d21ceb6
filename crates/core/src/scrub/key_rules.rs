//! Keys of clouds and services, by what they begin with.
//!
//! From the formats that the services publish, and from the rules of detect-secrets and gitleaks.

/// The alphabet of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyAlphabet {
    /// Upper-case letters and digits.
    Upper,
    /// Lower-case letters and digits.
    Lower,
    Hex,
    Alnum,
    /// Letters, digits and underscores.
    Word,
    /// Letters, digits, underscores and dashes.
    Url64,
    /// Letters, digits, underscores, dashes and dots.
    Dotted,
    /// Base64 with its padding.
    Base64,
    /// The path of a web hook.
    Path,
}

impl KeyAlphabet {
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Lower => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Url64 => Self::Word.has(byte) || byte == b'-',
            Self::Dotted => Self::Url64.has(byte) || byte == b'.',
            Self::Base64 => Self::Alnum.has(byte) || matches!(byte, b'+' | b'/' | b'='),
            Self::Path => Self::Url64.has(byte) || byte == b'/',
        }
    }
}

/// A prefix with the rule for the characters that follow it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub(super) prefix: &'static str,
    pub(super) class: KeyAlphabet,
    pub(super) fewest: usize,
    pub(super) most: usize,
}

const fn rule(prefix: &'static str, class: KeyAlphabet, fewest: usize, most: usize) -> Rule {
    Rule { prefix, class, fewest, most }
}

/// No key is longer.
const LONG: usize = 1024;

use KeyAlphabet::{Alnum, Base64, Dotted, Hex, Lower, Path, Upper, Url64, Word};

/// Every rule. A prefix that begins another one stands behind it.
pub(super) const RULES: &[Rule] = &[
    // Amazon
    rule("AKIA", Upper, 16, 16),
    rule("ASIA", Upper, 16, 16),
    rule("ABIA", Upper, 16, 16),
    rule("ACCA", Upper, 16, 16),
    rule("AGPA", Upper, 16, 16),
    rule("AIDA", Upper, 16, 16),
    rule("AROA", Upper, 16, 16),
    rule("A3T", Upper, 17, 17),
    // GitHub and GitLab
    rule("ghp_", Alnum, 36, 255),
    rule("gho_", Alnum, 36, 255),
    rule("ghu_", Alnum, 36, 255),
    rule("ghs_", Alnum, 36, 255),
    rule("ghr_", Alnum, 36, 255),
    rule("github_pat_", Word, 22, 255),
    rule("glpat-", Url64, 20, 50),
    rule("gldt-", Url64, 20, 50),
    rule("glft-", Url64, 20, 50),
    rule("glsoat-", Url64, 20, 50),
    rule("glrt-", Url64, 20, 50),
    rule("glcbt-", Url64, 20, 53),
    rule("glimt-", Url64, 25, 25),
    rule("glptt-", Url64, 40, 40),
    rule("glagent-", Url64, 50, LONG),
    rule("gloas-", Url64, 64, 64),
    rule("GR1348941", Url64, 20, 50),
    // Chat
    rule("xoxb-", Url64, 10, LONG),
    rule("xoxa-", Url64, 10, LONG),
    rule("xoxp-", Url64, 10, LONG),
    rule("xoxr-", Url64, 10, LONG),
    rule("xoxs-", Url64, 10, LONG),
    rule("xoxe.", Dotted, 10, LONG),
    rule("xapp-", Url64, 10, LONG),
    rule("hooks.slack.com/services/", Path, 30, LONG),
    rule("discord.com/api/webhooks/", Path, 60, LONG),
    rule("discordapp.com/api/webhooks/", Path, 60, LONG),
    // Payment and shops
    rule("sk_live_", Alnum, 16, LONG),
    rule("rk_live_", Alnum, 16, LONG),
    rule("sk_test_", Alnum, 16, LONG),
    rule("rk_test_", Alnum, 16, LONG),
    rule("whsec_", Base64, 24, LONG),
    rule("sq0atp-", Url64, 22, 22),
    rule("sq0csp-", Url64, 43, 43),
    rule("shpat_", Hex, 32, 32),
    rule("shpca_", Hex, 32, 32),
    rule("shppa_", Hex, 32, 32),
    rule("shpss_", Hex, 32, 32),
    // Google and Azure
    rule("AIza", Url64, 35, 35),
    rule("GOCSPX-", Url64, 28, 28),
    rule("ya29.", Url64, 20, LONG),
    rule("AccountKey=", Base64, 80, 96),
    rule("SharedAccessKey=", Base64, 40, 64),
    // Models
    rule("sk-ant-", Url64, 20, LONG),
    rule("sk-proj-", Url64, 20, LONG),
    rule("sk-svcacct-", Url64, 20, LONG),
    rule("sk-admin-", Url64, 20, LONG),
    rule("sk-or-v1-", Hex, 32, LONG),
    rule("sk-", Alnum, 32, 128),
    rule("gsk_", Alnum, 32, 128),
    rule("xai-", Alnum, 64, 128),
    rule("pplx-", Alnum, 32, 128),
    rule("hf_", Alnum, 30, 64),
    rule("r8_", Alnum, 37, 37),
    // Packages and builds
    rule("npm_", Alnum, 36, 36),
    rule("pypi-AgE", Url64, 85, LONG),
    rule("rubygems_", Hex, 48, 48),
    rule("dckr_pat_", Url64, 27, 64),
    rule("CLOJARS_", Lower, 60, 60),
    rule("AKC", Alnum, 10, 128),
    rule("AP", Alnum, 11, 128),
    rule("sqp_", Hex, 40, 40),
    rule("squ_", Hex, 40, 40),
    // Mail and phone
    rule("SG.", Dotted, 60, 72),
    rule("xkeysib-", Url64, 64, 128),
    rule("key-", Hex, 32, 32),
    rule("AC", Lower, 32, 32),
    rule("SK", Lower, 32, 32),
    // Clouds and tools
    rule("dop_v1_", Hex, 64, 64),
    rule("doo_v1_", Hex, 64, 64),
    rule("dapi", Hex, 32, 34),
    rule("dp.pt.", Alnum, 40, 44),
    rule("hvs.", Url64, 24, LONG),
    rule("HRKU-", Url64, 36, 64),
    rule("lin_api_", Alnum, 40, 40),
    rule("ntn_", Alnum, 40, 64),
    rule("PMAK-", Url64, 59, 59),
    rule("figd_", Url64, 40, 64),
    rule("glsa_", Word, 41, 41),
    rule("NRAK-", Upper, 27, 27),
    rule("ATATT3", Url64, 100, LONG),
    rule("sntrys_", Base64, 40, LONG),
    rule("tskey-", Url64, 20, 64),
    rule("pul-", Hex, 40, 40),
    rule("sbp_", Hex, 40, 40),
    rule("nfp_", Alnum, 36, 64),
    rule("pscale_tkn_", Url64, 32, 64),
    rule("AGE-SECRET-KEY-1", Upper, 58, 58),
];
