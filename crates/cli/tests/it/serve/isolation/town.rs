//! A database with several workspaces in it, each with pages that others must never hear of.
//!
//! Every page has three words that nothing else holds: in its slug, in its title and aliases, and in
//! its text. A request may hold a word of a page that its sender must not see, to ask for it; what
//! comes back then may hold that word, and none of the other two. Half of the pages are never asked
//! for by any word of theirs, so that all three would tell.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::json;

use crate::capture::capturing;
use crate::serve::client::token_of;
use crate::support::Home;

/// The workspaces that have tokens; the server's own has pages and no token.
pub(super) const TENANTS: [&str; 5] = ["north", "south", "east", "west", "centre"];
const OWN: &str = "default";

/// A page, known by what only it says.
#[derive(Debug, Clone)]
pub(super) struct Page {
    pub(super) slug: String,
    pub(super) title: String,
    pub(super) text: String,
    pub(super) is_private: bool,
    /// Whether its words may be in requests of those who must not see it.
    pub(super) is_asked_for: bool,
}

#[derive(Debug)]
pub(super) struct Tenant {
    pub(super) name: String,
    /// A source that only it has.
    pub(super) source: String,
    pub(super) pages: Vec<Page>,
    /// Words of erased texts, which no caller may see.
    turned: Vec<String>,
    pub(super) tokens: BTreeMap<&'static str, String>,
}

/// All of them, in one home.
pub(super) struct Town {
    pub(super) home: Home,
    pub(super) tenants: Vec<Tenant>,
}

impl Town {
    pub(super) fn build(home: Home) -> Self {
        let home = capturing(home);
        let names = TENANTS.iter().chain([&OWN]);
        let tenants = names.map(|name| settle(&home, name)).collect();
        Self { home, tenants }
    }

    /// The words that nobody of a workspace may be told: those of other workspaces, and those of
    /// private pages.
    pub(super) fn forbidden(&self, tenant: &Tenant) -> BTreeSet<String> {
        let of = |other: &Tenant| {
            let is_other = other.name != tenant.name;
            let hidden = other.pages.iter().filter(|page| is_other || page.is_private);
            let mut words: Vec<String> = hidden.flat_map(Page::words).collect();
            words.extend(other.turned.iter().cloned());
            if is_other && other.name != OWN {
                words.extend([format!("ws-{}", other.name), other.source.clone()]);
            }
            words
        };
        self.tenants.iter().flat_map(of).collect()
    }

    /// Every word of every page.
    pub(super) fn words(&self) -> BTreeSet<String> {
        let pages = self.tenants.iter().flat_map(|tenant| &tenant.pages);
        let turned = self.tenants.iter().flat_map(|tenant| tenant.turned.iter().cloned());
        pages.flat_map(Page::words).chain(turned).collect()
    }
}

impl Tenant {
    /// The workspace's name in the store.
    pub(super) fn workspace(&self) -> String {
        if self.name == OWN { OWN.to_owned() } else { format!("ws-{}", self.name) }
    }
}

impl Page {
    fn new(tenant: &str, mark: char, is_private: bool, is_asked_for: bool) -> Self {
        Self {
            slug: format!("people/quill{tenant}{mark}"),
            title: format!("vexil{tenant}{mark}"),
            text: format!("umbra{tenant}{mark}"),
            is_private,
            is_asked_for,
        }
    }

    /// The word of its slug.
    pub(super) fn name(&self) -> &str {
        self.slug.trim_start_matches("people/")
    }

    fn words(&self) -> [String; 3] {
        [self.name().to_owned(), self.title.clone(), self.text.clone()]
    }

    fn markdown(&self, neighbour: &Self) -> String {
        let Self { title, text, is_private, .. } = self;
        let visibility = if *is_private { "private" } else { "world" };
        // A public page that names a private one would tell of it itself.
        let link =
            if neighbour.is_private && !is_private { "shared/plan" } else { &neighbour.slug };
        format!(
            "---\ntitle: The {title} ledger\naliases: [{title} alias]\ntype: note\ntags: [harbour]\n\
             visibility: {visibility}\nworks_at: shared/plan\n---\n\nThe harbour crane {text} lifts \
             cargo at the berth. See [[{link}]] and [[shared/plan]].\n"
        )
    }
}

fn settle(home: &Home, name: &str) -> Tenant {
    let mark = |marks: &str, is_private, is_asked_for| -> Vec<Page> {
        marks.chars().map(|mark| Page::new(name, mark, is_private, is_asked_for)).collect()
    };
    let pages = [
        mark("ab", false, true),
        mark("cd", false, false),
        mark("ef", true, true),
        mark("gh", true, false),
    ]
    .concat();
    let mut tenant = Tenant {
        name: name.to_owned(),
        source: format!("src-{name}"),
        pages,
        turned: ["wasprivate", "waspublic", "isprivate"].map(|w| format!("{w}{name}")).to_vec(),
        tokens: BTreeMap::new(),
    };
    let workspace = tenant.workspace();
    if name != OWN {
        home.ok(&["workspaces", "add", &workspace]);
        for scope in ["read", "write", "admin"] {
            tenant.tokens.insert(scope, token_of(home, &workspace, scope));
        }
    }
    write_pages(home, &tenant);
    // The local owner's queries are captured, with private pages among the hits.
    let secret = &tenant.pages[7];
    assert!(secret.is_private && !secret.is_asked_for);
    let hits = home.hits(&["--workspace", &workspace, "query", &secret.text]);
    assert_eq!(hits.first(), Some(&format!("default::{}", secret.slug)), "its owner finds it");
    measure(home, &tenant);
    tenant
}

/// A run of a suite, which asks for a private page too: its owner may, and nobody may read of it.
fn measure(home: &Home, tenant: &Tenant) {
    let suites = "suites: [{ name: smoke, type: smoke, workspace: '*', owners: [x] }]\n";
    write(&home.path().join("suites.yaml"), suites);
    let query = |page: &Page| {
        let (text, slug) = (&page.text, &page.slug);
        format!("{}\n", json!({ "query": text, "expected": [format!("default::{slug}")] }))
    };
    let path = home.path().join("queries.jsonl");
    write(&path, &[&tenant.pages[0], &tenant.pages[7]].map(query).concat());
    let workspace = tenant.workspace();
    home.ok(&["--workspace", &workspace, "queries", "import", path.to_str().unwrap()]);
    home.ok(&["--workspace", &workspace, "suites", "create", "--from", "smoke"]);
    let ran = home.run(&["--workspace", &workspace, "suites", "run", "smoke"]);
    assert_eq!(ran.code, Some(1), "the private page is not found over a wire: {}", ran.stderr);
}

/// Writes the pages of a workspace, some of them twice: one that was private and one that became so.
fn write_pages(home: &Home, tenant: &Tenant) {
    let dir = tempfile::tempdir().unwrap();
    let file = |slug: &str, text: &str| write(&dir.path().join(format!("{slug}.md")), text);
    let next = tenant.pages.iter().skip(1).chain(tenant.pages.first());
    for (page, neighbour) in tenant.pages.iter().zip(next) {
        file(&page.slug, &page.markdown(neighbour));
    }
    let name = &tenant.name;
    let (private, world) = ("---\nvisibility: private\n---\n", "---\nvisibility: world\n---\n");
    file("shared/plan", "# Plan\n\nThe harbour crane of all.\n");
    file("shared/vault", &format!("{private}The crane isprivate{name}.\n"));
    file("shared/opened", &format!("{private}The crane wasprivate{name}.\n"));
    file("shared/closed", &format!("{world}The crane waspublic{name}.\n"));
    let import = |source: &str| {
        let dir = dir.path().to_str().unwrap();
        home.ok(&["--workspace", &tenant.workspace(), "import", dir, "--source", source, "-q"]);
    };
    import("default");
    file("shared/opened", &format!("{world}The crane is open.\n"));
    file("shared/closed", &format!("{private}The crane isprivate{name}.\n"));
    import("default");
    if name != OWN {
        home.ok(&["--workspace", &tenant.workspace(), "sources", "add", &tenant.source]);
    }
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
