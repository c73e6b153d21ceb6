//! Where the datasets come from. Facts as their publishers state them; nothing is downloaded.

/// A dataset that can be run here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogueEntry {
    pub name: &'static str,
    /// The command that runs it.
    pub command: &'static str,
    /// The place of publication.
    pub source: &'static str,
    pub files: &'static str,
    /// A hash to check a download with, and who states it; empty where we know of none.
    pub hash: &'static str,
    pub licence: &'static str,
    /// The measures of the dataset.
    pub measured: &'static str,
    /// Notes for readers of the results.
    pub notes: &'static str,
}

/// The measures of chats.
const CHATS: &str = "recall_any@k and recall_all@k of sessions or turns: retrieval, not answers";
/// The measures of test collections.
const DOCUMENTS: &str =
    "nDCG@10, AP@100, RR@100, P@5, R@5, R@10, R@100 of documents: retrieval, not answers";

/// A file whose SHA-256 is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownFile {
    pub name: &'static str,
    /// The published name of the file.
    pub file: &'static str,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: &'static str,
}

/// Every file whose SHA-256 is published.
pub const KNOWN_FILES: [KnownFile; 1] = [KnownFile {
    name: "LongMemEval_S, cleaned",
    file: "longmemeval_s_cleaned.json",
    sha256: "d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442",
}];

/// The known file with this SHA-256.
pub fn known_as(sha256: &str) -> Option<&'static str> {
    KNOWN_FILES.iter().find(|known| known.sha256 == sha256).map(|known| known.name)
}

/// The published file of a name.
pub(crate) fn known_name(file: &str) -> Option<&'static KnownFile> {
    KNOWN_FILES.iter().find(|known| known.file == file)
}

/// All datasets that gbrain knows.
pub const CATALOGUE: [CatalogueEntry; 8] = [
    CatalogueEntry {
        name: "LongMemEval (cleaned)",
        command: "gbrain eval longmemeval FILE --retrieval-only",
        source: "Hugging Face datasets: xiaowu0162/longmemeval-cleaned; code: github.com/xiaowu0162/LongMemEval",
        files: "longmemeval_oracle.json, longmemeval_s_cleaned.json (277 MB), longmemeval_m_cleaned.json (2.7 GB)",
        hash: "longmemeval_s_cleaned.json sha256 d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442 (as published runs record it)",
        licence: "MIT",
        measured: CHATS,
        notes: "500 questions of six types, 30 of them abstention. The 2024 release has other sessions: say which file was run.",
    },
    CatalogueEntry {
        name: "LongMemEval (2024)",
        command: "gbrain eval longmemeval FILE --retrieval-only",
        source: "Hugging Face datasets: xiaowu0162/longmemeval",
        files: "longmemeval_oracle.json, longmemeval_s.json, longmemeval_m.json",
        hash: "",
        licence: "MIT",
        measured: CHATS,
        notes: "Superseded by the cleaned release, in which distractors that held answers are gone.",
    },
    CatalogueEntry {
        name: "LoCoMo",
        command: "gbrain eval locomo locomo10.json",
        source: "github.com/snap-research/locomo, data/locomo10.json",
        files: "locomo10.json",
        hash: "",
        licence: "CC BY-NC 4.0",
        measured: CHATS,
        notes: "10 conversations, five categories of questions. Some of its answers and evidence are known to be wrong.",
    },
    CatalogueEntry {
        name: "BEIR scifact",
        command: "gbrain eval beir scifact/",
        source: "github.com/beir-cellar/beir, section Available Datasets",
        files: "scifact.zip",
        hash: "md5 5f7d1de60b170fc8027bb7898e2efca1 (BEIR's table)",
        licence: "CC BY-NC 2.0 (corpus ODC-By)",
        measured: DOCUMENTS,
        notes: "5,183 documents, 300 queries.",
    },
    CatalogueEntry {
        name: "BEIR nfcorpus",
        command: "gbrain eval beir nfcorpus/",
        source: "github.com/beir-cellar/beir, section Available Datasets",
        files: "nfcorpus.zip",
        hash: "md5 a89dba18a62ef92f7d323ec890a0d38d (BEIR's table)",
        licence: "for academic use",
        measured: DOCUMENTS,
        notes: "3,633 documents, 323 queries, graded.",
    },
    CatalogueEntry {
        name: "BEIR arguana",
        command: "gbrain eval beir arguana/",
        source: "github.com/beir-cellar/beir, section Available Datasets",
        files: "arguana.zip",
        hash: "md5 8ad3e3c2a5867cdced806d6503f29b99 (BEIR's table)",
        licence: "CC BY 4.0",
        measured: DOCUMENTS,
        notes: "8,674 documents, 1,406 queries that are whole arguments.",
    },
    CatalogueEntry {
        name: "Cranfield, CISI, MED",
        command: "gbrain eval beir cranfield/",
        source: "the classic collections, in the BEIR layout",
        files: "corpus.jsonl, queries.jsonl, qrels/test.tsv",
        hash: "",
        licence: "research use",
        measured: DOCUMENTS,
        notes: "1,400 / 1,460 / 1,033 documents. Cranfield's judgements number queries by order, not by their ids.",
    },
    CatalogueEntry {
        name: "your own",
        command: "gbrain eval trec --corpus C.jsonl --queries Q.jsonl --qrels J",
        source: "anywhere",
        files: "documents and queries as JSON lines (_id, title, text); judgements as TREC lines, a BEIR table or qrels.json",
        hash: "",
        licence: "yours",
        measured: DOCUMENTS,
        notes: "Against the brain you have: gbrain eval --qrels J.",
    },
];
