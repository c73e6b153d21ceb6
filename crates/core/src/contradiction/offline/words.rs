//! Word lists of the offline judge: function words, synonyms, hypernyms and antonyms. General
//! English, one line per concept; stems are derived from them.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::text::analyse;

/// Function words beyond the stop words of search.
const FUNCTION: &str = "also another away back being both each else every few get gets getting got had \
    he her hers here herself him himself his its itself just let lot made make makes many more most \
    much one ones onto out over own per quite rather she so some somebody someone something still than \
    them theirs themselves through too under until up upon very via while who whom whose within \
    yes yet now currently today right really already piece bunch group front side next down off \
    between near close beside around along across behind during longer anymore only several all \
    two three four five six seven eight nine ten eleven twelve dozen";

const DENIALS: &str = "no not never nobody none nothing neither without cannot isnt arent wasnt werent \
    dont doesnt didnt wont cant couldnt hasnt havent hadnt wouldnt shouldnt nowhere";

/// Words that mark a wish, plan, condition or question.
const UNASSERTED: &str = "if might maybe perhaps should would could hopefully whether unless suppose \
    imagine wish hope hopes consider considering rumour rumor allegedly unclear";

/// Synonyms, for deciding whether sentences have the same subject.
const SAME: &[&str] = &[
    "man guy gentleman male",
    "woman lady female",
    "kid child",
    "telephone phone cellphone",
    "car automobile",
    "bicycle bike",
    "motorcycle motorbike",
    "photo picture photograph",
    "big large huge",
    "small little tiny",
    "begin start commence",
    "finish complete",
    "buy purchase acquire bought",
    "leave left",
    "lose lost",
    "sell sold",
    "company firm",
    "staff employee employ headcount",
    "cost price pay rent fee",
    "job position role",
    "headquarters hq headquartered",
    "boss manager",
    "road street",
    "talk speak spoke",
    "slice cut chop dice",
    "gun pistol",
    "food meal",
    "record film",
    "rabbit bunny",
    "jog run",
    "outdoors outside",
    "indoors inside",
    "customer client",
    "deadline due",
];

/// Hypernyms and their hyponyms: a denial of the hypernym denies all of them.
const KINDS: &[(&str, &str)] = &[
    (
        "person people human",
        "man woman boy girl kid child baby teenager player worker chef cook rider dancer swimmer singer \
         driver climber skier surfer",
    ),
    ("kid child", "boy girl baby toddler"),
    ("animal", "dog cat horse bird monkey rabbit cow sheep"),
    ("dog", "puppy"),
    ("cat", "kitten"),
    ("vehicle", "car truck bus van motorcycle"),
    ("instrument", "guitar piano flute violin drum"),
    ("food", "pizza bread fruit meat vegetable"),
];

/// Pairs of antonyms, each side with its synonyms.
const OPPOSITE: &[(&str, &str)] = &[
    ("open", "close shut"),
    ("open", "proprietary"),
    ("paid", "overdue outstanding"),
    ("approve accept agree", "reject decline refuse deny"),
    ("win won", "lose lost"),
    ("pass passed", "fail failed"),
    ("profitable", "unprofitable loss"),
    ("profitable", "losing"),
    ("hire hired", "fire fired"),
    ("alive", "dead died"),
    ("married", "single divorced unmarried"),
    ("public", "private"),
    (
        "increase increased rise rose grow grew raise",
        "decrease decreased fall fell drop dropped shrink shrank reduce reduced",
    ),
    ("higher", "lower"),
    ("more", "fewer less"),
    ("start begin", "stop end quit"),
    ("arrive enter", "leave depart exit"),
    ("join", "leave quit"),
    ("buy", "sell sold"),
    ("love", "hate dislike"),
    ("remember", "forget forgot"),
    ("succeed", "fail"),
    ("empty", "full"),
    ("near close", "far"),
    ("on", "off"),
    ("onto", "off"),
    ("into", "out"),
    ("up", "down"),
    ("indoors inside", "outdoors outside"),
    ("add put insert", "remove"),
    ("fast quick", "slow"),
    ("hot warm", "cold"),
    ("big", "small"),
    ("old", "new"),
    ("young", "old"),
    ("asleep sleep", "awake"),
    ("clean", "dirty"),
    ("wet", "dry"),
    ("light", "heavy"),
    ("light bright", "dark"),
    ("loud noisy", "quiet silent"),
    ("rich", "poor"),
    ("first", "last"),
    ("day", "night"),
    ("safe", "dangerous unsafe"),
    ("true", "false"),
    ("legal", "illegal"),
    ("ascend climb", "descend"),
    ("attach", "detach"),
    ("lock", "unlock"),
    ("fold", "unfold"),
    ("wrap", "unwrap"),
    ("vegetarian vegan", "meat"),
    ("unanimous", "against"),
    ("finished done completed", "pending unfinished ongoing"),
    ("enable", "disable"),
    ("encourage promote support", "discourage oppose"),
    ("push", "pull"),
    ("throw", "catch"),
    ("build", "demolish destroy"),
    ("fluent", "none"),
    ("moving", "still motionless immobile"),
    ("activate promote induce", "inhibit suppress prevent impede"),
    ("allow permit", "forbid prohibit ban"),
    ("effective", "ineffective"),
    ("beneficial", "harmful"),
    ("present", "absent"),
    ("active", "inactive retired"),
    ("available", "unavailable sold"),
    ("valid", "expired invalid"),
    ("online", "offline"),
    ("guilty", "innocent"),
    ("cheap", "expensive"),
    ("visible", "hidden"),
    ("mandatory required", "optional"),
    ("permanent", "temporary"),
    ("everybody everyone all", "nobody none"),
];

/// Negating prefixes with the minimum length of the word: income is not the opposite of come.
const DENYING: &[(&str, usize)] =
    &[("un", 4), ("non", 4), ("dis", 4), ("in", 5), ("im", 5), ("ir", 5), ("il", 5)];

pub(super) struct Lexicon {
    function: FxHashSet<&'static str>,
    denials: FxHashSet<&'static str>,
    unasserted: FxHashSet<&'static str>,
    /// Maps a stem to the canonical stem of its synonyms.
    same: FxHashMap<String, String>,
    kinds: FxHashSet<(String, String)>,
    opposites: FxHashSet<(String, String)>,
}

pub(super) static WORDS: LazyLock<Lexicon> = LazyLock::new(Lexicon::new);

impl Lexicon {
    fn new() -> Self {
        let mut words = Self {
            function: FUNCTION.split_whitespace().collect(),
            denials: DENIALS.split_whitespace().collect(),
            unasserted: UNASSERTED.split_whitespace().collect(),
            same: FxHashMap::default(),
            kinds: FxHashSet::default(),
            opposites: FxHashSet::default(),
        };
        for line in SAME {
            let stems = stems(line);
            for stem in &stems {
                words.same.insert(stem.clone(), stems[0].clone());
            }
        }
        for (kinds, members) in KINDS {
            words.kinds.extend(words.crossed(kinds, members));
        }
        for (ones, others) in OPPOSITE {
            words.opposites.extend(words.crossed(ones, others));
            words.opposites.extend(words.crossed(others, ones));
        }
        words
    }

    fn crossed(&self, ones: &str, others: &str) -> Vec<(String, String)> {
        let meant = |line: &str| stems(line).into_iter().map(|stem| self.meaning(stem));
        meant(ones).flat_map(|one| meant(others).map(move |other| (one.clone(), other))).collect()
    }

    /// The canonical stem of a stem's synonyms.
    pub(super) fn meaning(&self, stem: String) -> String {
        self.same.get(&stem).cloned().unwrap_or(stem)
    }

    pub(super) fn is_function(&self, exact: &str) -> bool {
        self.function.contains(exact)
    }

    pub(super) fn is_denial(&self, exact: &str) -> bool {
        self.denials.contains(exact)
    }

    pub(super) fn is_unasserted(&self, exact: &str) -> bool {
        self.unasserted.contains(exact)
    }

    /// Whether `member` is `kind` or one of its hyponyms.
    pub(super) fn is_kind_of(&self, member: &str, kind: &str) -> bool {
        member == kind || self.kinds.contains(&(kind.to_owned(), member.to_owned()))
    }

    pub(super) fn are_opposites(&self, one: &str, other: &str) -> bool {
        let is_denied = |word: &str, of: &str| {
            DENYING.iter().any(|(prefix, least)| {
                of.len() >= *least && word.strip_prefix(prefix).is_some_and(|rest| rest == of)
            })
        };
        self.opposites.contains(&(one.to_owned(), other.to_owned()))
            || is_denied(one, other)
            || is_denied(other, one)
    }
}

fn stems(line: &str) -> Vec<String> {
    let mut stems = Vec::new();
    analyse(line, &mut |token| stems.push(token.stem.to_owned()));
    stems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_by_stem() {
        assert!(WORDS.are_opposites("approv", "declin") && WORDS.are_opposites("declin", "approv"));
        assert!(WORDS.are_opposites("paid", "unpaid") && !WORDS.are_opposites("come", "income"));
        assert!(WORDS.is_kind_of("boy", "person") && !WORDS.is_kind_of("person", "boy"));
        assert_eq!(WORDS.meaning("telephon".to_owned()), WORDS.meaning("phone".to_owned()));
    }

    #[test]
    fn no_word_is_its_own_opposite() {
        for (one, other) in &WORDS.opposites {
            assert_ne!(one, other);
        }
    }
}
