//! The decisions about dependencies: what is allowed, and why.

/// Licences whose terms this project can keep. A crate under a choice of licences needs one of them, a crate under
/// several at once needs all of them.
pub(super) const LICENCES: [&str; 8] = [
    "Apache-2.0",
    "BSD-3-Clause",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Zlib",
];

/// A crate that is in the graph in several versions.
pub(super) struct AcceptedDuplicate {
    pub(super) name: &'static str,
    /// Every version but the newest, as `major.minor` or `major`: what semantic versioning keeps apart.
    pub(super) older: &'static [&'static str],
    pub(super) reason: &'static str,
}

/// Duplicates that only an update of another crate can remove.
pub(super) const DUPLICATES: &[AcceptedDuplicate] = &[
    AcceptedDuplicate {
        name: "base64",
        older: &["0.13", "0.22"],
        reason: "0.13: tokenizers (tests only); 0.22: opentelemetry-proto and postgres-protocol",
    },
    AcceptedDuplicate {
        name: "const-oid",
        older: &["0.9"],
        reason: "0.9: x509-cert, which tokio-postgres-rustls uses for channel binding",
    },
    AcceptedDuplicate {
        name: "cpufeatures",
        older: &["0.2"],
        reason: "0.2: const-hex, which opentelemetry-proto uses",
    },
    AcceptedDuplicate {
        name: "darling",
        older: &["0.20"],
        reason: "0.20: derive_builder, which tokenizers uses (tests only)",
    },
    AcceptedDuplicate { name: "darling_core", older: &["0.20"], reason: "a part of darling" },
    AcceptedDuplicate { name: "darling_macro", older: &["0.20"], reason: "a part of darling" },
    AcceptedDuplicate {
        name: "fallible-iterator",
        older: &["0.2"],
        reason: "0.2: postgres and postgres-protocol",
    },
    AcceptedDuplicate {
        name: "getrandom",
        older: &["0.2", "0.3"],
        reason: "0.2: ring; 0.3: rand 0.9 and ahash",
    },
    AcceptedDuplicate {
        name: "rand",
        older: &["0.9"],
        reason: "0.9: opentelemetry_sdk and tantivy",
    },
    AcceptedDuplicate { name: "rand_core", older: &["0.9"], reason: "a part of rand" },
    AcceptedDuplicate { name: "similar", older: &["2"], reason: "2: insta (tests only)" },
    AcceptedDuplicate {
        name: "syn",
        older: &["2"],
        reason: "2: macros of der, derive_builder and others, at build time only",
    },
];

/// A crate that its authors no longer maintain.
pub(super) struct UnmaintainedCrate {
    pub(super) name: &'static str,
    /// The day of the notice.
    pub(super) since: &'static str,
    /// The notice of the advisory.
    pub(super) source: &'static str,
    /// Why it is in the graph all the same; without a reason it may not be.
    pub(super) accepted: Option<&'static str>,
}

const fn unmaintained(
    name: &'static str,
    since: &'static str,
    source: &'static str,
) -> UnmaintainedCrate {
    UnmaintainedCrate { name, since, source, accepted: None }
}

/// Crates that are known to be unmaintained, and that were in many projects' graphs. An advisory database knows more;
/// this list is checked everywhere, offline too.
pub(super) const UNMAINTAINED: &[UnmaintainedCrate] = &[
    UnmaintainedCrate {
        accepted: Some(
            "a dependency of tokenizers, which only tests use, as the peer of our own tokenizer",
        ),
        ..unmaintained("paste", "2024-10-07", "RUSTSEC-2024-0436")
    },
    unmaintained("adler", "2025-09-05", "RUSTSEC-2025-0056"),
    unmaintained("ansi_term", "2021-08-18", "RUSTSEC-2021-0139"),
    unmaintained("async-std", "2025-08-24", "RUSTSEC-2025-0052"),
    unmaintained("atty", "2024-09-25", "RUSTSEC-2024-0375"),
    unmaintained("backoff", "2025-03-04", "RUSTSEC-2025-0012"),
    unmaintained("bincode", "2025-12-16", "RUSTSEC-2025-0141"),
    unmaintained("derivative", "2024-06-26", "RUSTSEC-2024-0388"),
    unmaintained("dotenv", "2021-12-24", "RUSTSEC-2021-0141"),
    unmaintained("encoding", "2021-12-05", "RUSTSEC-2021-0153"),
    unmaintained("failure", "2020-05-02", "RUSTSEC-2020-0036"),
    unmaintained("fxhash", "2025-09-05", "RUSTSEC-2025-0057"),
    unmaintained("instant", "2024-09-01", "RUSTSEC-2024-0384"),
    unmaintained("mach", "2020-07-14", "RUSTSEC-2020-0168"),
    unmaintained("net2", "2020-05-01", "RUSTSEC-2020-0016"),
    unmaintained("number_prefix", "2025-11-17", "RUSTSEC-2025-0119"),
    unmaintained("proc-macro-error", "2024-09-01", "RUSTSEC-2024-0370"),
    unmaintained("rustls-pemfile", "2025-11-28", "RUSTSEC-2025-0134"),
    unmaintained("serde_cbor", "2021-08-15", "RUSTSEC-2021-0127"),
    unmaintained("stdweb", "2020-05-04", "RUSTSEC-2020-0056"),
    unmaintained("tempdir", "2018-02-13", "RUSTSEC-2018-0017"),
    unmaintained("term", "2018-11-19", "RUSTSEC-2018-0015"),
    unmaintained("wee_alloc", "2022-05-11", "RUSTSEC-2022-0054"),
    unmaintained("yaml-rust", "2024-03-20", "RUSTSEC-2024-0320"),
];
