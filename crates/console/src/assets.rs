//! The stylesheet and the scripts, under names that contain the hash of their content, so that
//! browsers may keep them forever.

use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

/// A file that pages refer to.
#[derive(Debug)]
pub struct Asset {
    /// Name in the URL, with the hash: `style-0123456789ab.css`.
    pub name: String,
    pub content_type: &'static str,
    pub bytes: &'static str,
}

/// All assets. The first is the stylesheet, the second the script of every page; others are scripts
/// of single pages.
pub static ASSETS: LazyLock<[Asset; 3]> = LazyLock::new(|| {
    [
        asset("style", "css", "text/css; charset=utf-8", STYLE),
        asset("console", "js", "text/javascript; charset=utf-8", SCRIPT),
        asset("label", "js", "text/javascript; charset=utf-8", LABEL_SCRIPT),
    ]
});

pub(crate) const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/console.js");
const LABEL_SCRIPT: &str = include_str!("assets/label.js");

pub(crate) fn stylesheet() -> String {
    url(&ASSETS[0])
}

pub(crate) fn script() -> String {
    url(&ASSETS[1])
}

/// The keys of the labelling queue, for [`Page::scripts`](crate::Page).
pub(crate) fn label_script() -> String {
    url(&ASSETS[2])
}

fn url(asset: &Asset) -> String {
    format!("/assets/{}", asset.name)
}

fn asset(stem: &str, extension: &str, content_type: &'static str, bytes: &'static str) -> Asset {
    let digest = Sha256::digest(bytes.as_bytes());
    let hash: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    Asset { name: format!("{stem}-{hash}.{extension}"), content_type, bytes }
}
