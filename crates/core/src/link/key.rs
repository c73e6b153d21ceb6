//! Relations by name: the keys of frontmatter and of typed lines.

use super::Direction::{self, In, Out};
use super::LinkType::{self, *};

/// Other names for relations, and who they are seen from. `In`: the value acts on this page.
const SYNONYMS: &[(&str, LinkType, Direction)] = &[
    ("work_at", WorksAt, Out),
    ("works_for", WorksAt, Out),
    ("company", WorksAt, Out),
    ("employer", WorksAt, Out),
    ("employees", WorksAt, In),
    ("employee", WorksAt, In),
    ("staff", WorksAt, In),
    ("founder", Founded, In),
    ("founders", Founded, In),
    ("founded_by", Founded, In),
    ("cofounders", Founded, In),
    ("co_founders", Founded, In),
    ("founder_of", Founded, Out),
    ("investor", InvestedIn, In),
    ("investors", InvestedIn, In),
    ("backers", InvestedIn, In),
    ("backed_by", InvestedIn, In),
    ("investments", InvestedIn, Out),
    ("portfolio", InvestedIn, Out),
    ("advisor", Advises, In),
    ("adviser", Advises, In),
    ("advisors", Advises, In),
    ("advisers", Advises, In),
    ("advised_by", Advises, In),
    ("advisor_to", Advises, Out),
    ("adviser_to", Advises, Out),
    ("attendees", Attended, In),
    ("attendee", Attended, In),
    ("attended_by", Attended, In),
    ("present", Attended, In),
    ("owner", OwnedBy, Out),
    ("owners", OwnedBy, Out),
    ("maintainer", OwnedBy, Out),
    ("maintainers", OwnedBy, Out),
    ("maintained_by", OwnedBy, Out),
    ("owns", OwnedBy, In),
    ("maintains", OwnedBy, In),
    ("members", MemberOf, In),
    ("member", MemberOf, In),
    ("teams", MemberOf, Out),
    ("depends", DependsOn, Out),
    ("dependencies", DependsOn, Out),
    ("requires", DependsOn, Out),
    ("dependents", DependsOn, In),
    ("required_by", DependsOn, In),
    ("used_by", DependsOn, In),
    ("blockers", BlockedBy, Out),
    ("waiting_on", BlockedBy, Out),
    ("waiting_for", BlockedBy, Out),
    ("blocks", BlockedBy, In),
    ("blocking", BlockedBy, In),
    ("fixes", Resolves, Out),
    ("closes", Resolves, Out),
    ("resolved_by", Resolves, In),
    ("fixed_by", Resolves, In),
    ("closed_by", Resolves, In),
    ("goal", AlignsWithGoal, Out),
    ("goals", AlignsWithGoal, Out),
    ("aligned_with", AlignsWithGoal, Out),
    ("aligns_with", AlignsWithGoal, Out),
    ("supports_goal", AlignsWithGoal, Out),
    ("related", Mentions, Out),
    ("see_also", Mentions, Out),
];

/// The relation that a key names on a page of this type.
pub(crate) fn relation_of_key(key: &str, page_type: &str) -> Option<(LinkType, Direction)> {
    // Invariant: no relation has a longer name, so a paragraph before a colon is not copied.
    if key.len() > 32 {
        return None;
    }
    let key = key.trim().to_lowercase().replace([' ', '-'], "_");
    match (key.as_str(), page_type) {
        ("team", "person") => return Some((MemberOf, Out)),
        ("team", "company") => return Some((WorksAt, In)),
        ("team", _) => return Some((OwnedBy, Out)),
        // The speakers of a chat are in its turns, and a chat is not a meeting.
        ("participants", "chat") => return None,
        ("participants", _) => return Some((Attended, In)),
        _ => {}
    }
    let synonym = SYNONYMS.iter().find(|(name, ..)| *name == key);
    let synonym = synonym.map(|&(_, link_type, direction)| (link_type, direction));
    synonym.or_else(|| LinkType::from_name(&key).map(|link_type| (link_type, Out)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_wire_names_and_synonyms() {
        for (key, expected) in [
            ("works_at", Some((WorksAt, Out))),
            ("Depends on", Some((DependsOn, Out))),
            ("attendees", Some((Attended, In))),
            ("Owned-By", Some((OwnedBy, Out))),
            ("blocks", Some((BlockedBy, In))),
            ("colour", None),
        ] {
            assert_eq!(relation_of_key(key, "note"), expected, "{key}");
        }
        assert_eq!(relation_of_key("team", "person"), Some((MemberOf, Out)));
        assert_eq!(relation_of_key("team", "service"), Some((OwnedBy, Out)));
    }
}
