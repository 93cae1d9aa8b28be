//! A Markdown file of epics: `## Epic 1: …`, `### Story 1.2: …`, and the text below.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::keys::{self, KnownEpics, StoryId};

/// Longer than the id or prefix of any story.
const LONGEST_NAME: usize = 255;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpicFile {
    /// The first `# ` heading.
    pub title: String,
    pub stories: Vec<EpicStory>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpicStory {
    pub id: StoryId,
    /// Its name in the heading.
    pub written: String,
    pub title: String,
    /// Title of the epic that contains the story.
    pub epic_title: String,
    body: Vec<String>,
}

/// The parts of a story's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    pub description: String,
    pub criteria: Vec<String>,
    /// As written; may be empty.
    pub dependencies: String,
}

impl EpicFile {
    pub fn read(text: &str, known: &KnownEpics) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut file = Self { title: String::new(), stories: Vec::new() };
        let mut epic_title = String::new();
        let mut in_story = false;
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix("### Story ") {
                let story = story(heading, &epic_title, known);
                in_story = story.is_some();
                file.stories.extend(story);
            } else if let Some(heading) = line.strip_prefix("## Epic ") {
                in_story = false;
                if let Some((_, title)) = heading.split_once(':') {
                    title.trim().clone_into(&mut epic_title);
                }
            } else if in_story && let Some(story) = file.stories.last_mut() {
                story.body.push(line.to_owned());
            } else if let Some(title) = line.strip_prefix("# ")
                && file.title.is_empty()
            {
                title.trim().clone_into(&mut file.title);
            }
        }
        file
    }

    /// By its id, prefix or key, or by its heading.
    pub fn story(&self, asked: &str, known: &KnownEpics) -> Option<&EpicStory> {
        let meant = keys::read(asked, known);
        let is_it = |story: &&EpicStory| {
            story.written == asked || meant.as_ref().is_some_and(|meant| meant.id == story.id)
        };
        self.stories.iter().find(is_it)
    }

    /// Stories of this file that name `id` as a dependency, sorted as text.
    pub fn dependents(&self, id: &StoryId) -> Vec<String> {
        let mut dependents: Vec<String> = self
            .stories
            .iter()
            .filter(|story| story.id != *id && story.depends_on(id))
            .map(|story| story.id.to_string())
            .collect();
        dependents.sort_unstable();
        dependents.dedup();
        dependents
    }
}

/// The first story of each id in several files.
pub fn by_id<'a>(
    files: impl IntoIterator<Item = &'a EpicFile>,
) -> HashMap<&'a StoryId, &'a EpicStory> {
    let mut found = HashMap::new();
    for story in files.into_iter().flat_map(|file| &file.stories) {
        found.entry(&story.id).or_insert(story);
    }
    found
}

/// For each of these stories, the stories of the files that depend on it: file after file, sorted as text in each. The same as
/// [`EpicFile::dependents`] for one after the other, in one pass.
pub fn all_dependents<'a>(
    files: impl IntoIterator<Item = &'a EpicFile>,
    ids: &'a [&StoryId],
) -> HashMap<&'a StoryId, Vec<String>> {
    let names = ids.iter().flat_map(|id| [(id.to_string(), *id), (id.prefix(), *id)]);
    let names: HashMap<String, &StoryId> = names.collect();
    let mut found: HashMap<&StoryId, Vec<String>> = HashMap::new();
    for file in files {
        let mut in_file: HashMap<&StoryId, BTreeSet<String>> = HashMap::new();
        for story in &file.stories {
            story.for_each_dependency_text(|text| {
                for id in named(text, &names).filter(|id| **id != story.id) {
                    in_file.entry(id).or_default().insert(story.id.to_string());
                }
            });
        }
        for (id, dependents) in in_file {
            found.entry(id).or_default().extend(dependents);
        }
    }
    found
}

/// The stories that a text names, as [`names`] would find them.
fn named<'a>(
    text: &str,
    known: &HashMap<String, &'a StoryId>,
) -> impl Iterator<Item = &'a StoryId> {
    let mut found = Vec::new();
    let is_part = |letter: char| letter.is_alphanumeric() || ".-_".contains(letter);
    for word in text.split(|letter| !is_part(letter)) {
        let ends = word.char_indices().map(|(at, _)| at).chain([word.len()]);
        for end in ends.skip(1).take_while(|end| *end <= LONGEST_NAME) {
            let mut after = word[end..].chars();
            if !goes_on(after.next(), after.next()) {
                found.extend(known.get(&word[..end]));
            }
        }
    }
    found.into_iter()
}

fn story(heading: &str, epic_title: &str, known: &KnownEpics) -> Option<EpicStory> {
    let (written, title) = heading.split_once(':')?;
    let written = written.trim();
    Some(EpicStory {
        id: keys::read(written, known)?.id,
        written: written.to_owned(),
        title: title.trim().to_owned(),
        epic_title: epic_title.to_owned(),
        body: Vec::new(),
    })
}

impl EpicStory {
    pub fn parts(&self) -> Parts {
        let is_criteria = |line: &String| heads_criteria(line);
        let split = self.body.iter().position(is_criteria).unwrap_or(self.body.len());
        let (above, below) = self.body.split_at(split);
        let words: Vec<&str> = above.iter().flat_map(|line| line.split_whitespace()).collect();
        let said = self.body.iter().find_map(|line| dependencies(line));
        let is_criterion = |line: &&String| {
            !line.trim().is_empty() && !heads_criteria(line) && dependencies(line).is_none()
        };
        Parts {
            description: words.join(" "),
            criteria: below
                .iter()
                .filter(is_criterion)
                .map(|line| line.trim().to_owned())
                .collect(),
            dependencies: said.unwrap_or_default().to_owned(),
        }
    }

    fn depends_on(&self, id: &StoryId) -> bool {
        let mut depends = false;
        self.for_each_dependency_text(|text| depends = depends || names(text, id));
        depends
    }

    /// The text of a line `Dependencies: …`, or the list right below an empty one.
    fn for_each_dependency_text(&self, mut visit: impl FnMut(&str)) {
        let mut lines = self.body.iter().peekable();
        while let Some(line) = lines.next() {
            let Some(text) = dependencies_in_any_case(line) else { continue };
            visit(text);
            if text.is_empty() {
                let is_item = |line: &&String| line.trim_start().starts_with(['-', '*', '+']);
                while let Some(item) = lines.next_if(is_item) {
                    visit(item);
                }
            }
        }
    }
}

fn heads_criteria(line: &str) -> bool {
    let bare = line.trim_matches(|letter: char| letter.is_whitespace() || "#*_:-".contains(letter));
    line.contains("Acceptance Criteria") || bare.eq_ignore_ascii_case("acceptance criteria")
}

/// The text after `Dependencies:`, bold or not.
fn dependencies(line: &str) -> Option<&str> {
    text_after(line, line, "Dependencies")
}

fn dependencies_in_any_case(line: &str) -> Option<&str> {
    text_after(line, &line.to_ascii_lowercase(), "dependencies")
}

fn text_after<'a>(line: &'a str, searched: &str, label: &str) -> Option<&'a str> {
    searched.match_indices(label).find_map(|(at, _)| {
        let rest = line[at + label.len()..].trim_start_matches('*');
        rest.strip_prefix(':').map(without_stars)
    })
}

fn without_stars(text: &str) -> &str {
    text.trim().trim_matches('*').trim()
}

/// Whether a text contains the id `3.1`, the prefix `3-1`, or a key with it; `3.10` and `13.1` do not count.
fn names(text: &str, id: &StoryId) -> bool {
    [id.to_string(), id.prefix()].iter().any(|name| {
        text.match_indices(name.as_str()).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let mut after = text[at + name.len()..].chars();
            let (next, second) = (after.next(), after.next());
            let starts = before.is_none_or(|letter| {
                !letter.is_alphanumeric() && letter != '.' && letter != '-' && letter != '_'
            });
            starts && !goes_on(next, second)
        })
    })
}

/// Whether a name followed by these characters is the beginning of another.
fn goes_on(next: Option<char>, second: Option<char>) -> bool {
    next.is_some_and(char::is_alphanumeric)
        || (next == Some('.') && second.is_some_and(|letter| letter.is_ascii_digit()))
}

/// Whether the last chosen story is the last one of its epics, and the last story. Only epics of chosen stories count; all of them
/// if the file has none of those.
pub fn reach(file: &EpicFile, chosen: &[StoryId]) -> Option<(bool, StoryId)> {
    let ids = || file.stories.iter().map(|story| &story.id);
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (at, id) in ids().enumerate() {
        first.entry(&id.epic).or_insert(at);
    }
    let place = |id: &StoryId| -> (usize, u64, u64) {
        // Numbered epics in the order of their numbers, then named ones.
        match id.epic.parse() {
            Ok(number) => (0, number, id.place()),
            Err(_) => (1 + first.get(id.epic.as_str()).copied().unwrap_or(0), 0, id.place()),
        }
    };
    let named: HashSet<&str> = chosen.iter().map(|chosen| chosen.epic.as_str()).collect();
    let is_named = |id: &&StoryId| named.contains(id.epic.as_str());
    let last = ids()
        .filter(is_named)
        .max_by_key(|id| place(id))
        .or_else(|| ids().max_by_key(|id| place(id)))?;
    let furthest = chosen.iter().max_by_key(|id| place(id));
    Some((furthest == Some(last), last.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPICS: &str = "# Shop Platform\n\n## Epic 1: Accounts\n\n### Story 1.1: User Login\n\nAs a user I want to log in.\n\n**Acceptance Criteria**\n- works\n\n- fails politely\nDependencies: 9.9\n\n### Story 1.2: Password Reset\n\nA  reset mail.\n- **Dependencies:** 1.1\n\n#### Acceptance criteria\n - mail is sent\n\n### Story 1.3: Profile: Page\n\n**Dependencies**: none\n\n## Epic 2: Billing\n### Story one: bad\nlost\n### Story 2.1: Invoices\nDependencies: 1.2, 1-3\n### Story 2.10: More\nDependencies:\n- 2-1-invoices\n\n### Story login.3: Named\n";

    fn file() -> EpicFile {
        EpicFile::read(EPICS, &KnownEpics::default())
    }

    #[test]
    fn headings_are_read() {
        let file = file();
        assert_eq!(file.title, "Shop Platform");
        let found: Vec<(String, &str, &str)> = file
            .stories
            .iter()
            .map(|story| (story.id.to_string(), story.title.as_str(), story.epic_title.as_str()))
            .collect();
        let expected = [
            ("1.1", "User Login", "Accounts"),
            ("1.2", "Password Reset", "Accounts"),
            ("1.3", "Profile: Page", "Accounts"),
            ("2.1", "Invoices", "Billing"),
            ("2.10", "More", "Billing"),
            ("login.3", "Named", "Billing"),
        ];
        assert_eq!(found, expected.map(|(id, title, epic)| (id.to_owned(), title, epic)));
    }

    #[test]
    fn parts_of_a_story_are_read() {
        let known = KnownEpics::default();
        let file = file();
        let parts = |asked: &str| file.story(asked, &known).unwrap().parts();
        let login = parts("1-1-user-login");
        assert_eq!(login.description, "As a user I want to log in.");
        assert_eq!(login.criteria, ["- works", "- fails politely"]);
        assert_eq!(login.dependencies, "9.9");
        let reset = parts("1.2");
        assert_eq!(reset.description, "A reset mail. - **Dependencies:** 1.1");
        assert_eq!(reset.criteria, ["- mail is sent"]);
        assert_eq!(reset.dependencies, "1.1");
        assert_eq!(parts("1-3").dependencies, "none");
        assert!(file.story("9.9", &known).is_none());
    }

    #[test]
    fn dependents_of_a_story_are_found() {
        let known = KnownEpics::default();
        let file = file();
        let dependents = |asked: &str| file.dependents(&file.story(asked, &known).unwrap().id);
        assert_eq!(dependents("1.1"), ["1.2"]);
        assert_eq!(dependents("1.2"), ["2.1"]);
        assert_eq!(dependents("2.1"), ["2.10"]);
        assert!(dependents("2.10").is_empty());
        let ids: Vec<&StoryId> = file.stories.iter().map(|story| &story.id).collect();
        let all = all_dependents([&file], &ids);
        for id in &ids {
            let in_one_pass = all.get(id).cloned().unwrap_or_default();
            assert_eq!(in_one_pass, file.dependents(id), "{id}");
        }
        for (said, names_it) in [
            ("3.1", true),
            ("(3.1)", true),
            ("3-1-key", true),
            ("3.1.", true),
            ("x 3.1, 4.1", true),
            ("3.10", false),
            ("13.1", false),
            ("3.1.2", false),
            ("a-3.1", false),
            ("3.1a", false),
            ("é3.1", false),
            ("3.1é", false),
        ] {
            let id = keys::read("3.1", &known).unwrap().id;
            assert_eq!(names(said, &id), names_it, "{said}");
            let by_name = HashMap::from([(id.to_string(), &id), (id.prefix(), &id)]);
            assert_eq!(named(said, &by_name).count() > 0, names_it, "{said}");
        }
    }

    #[test]
    fn whether_the_chosen_stories_reach_the_last_one() {
        let known = KnownEpics::default();
        let file = EpicFile::read("### Story 1.1: a\n### Story 1.3: c\n### Story 2.1: b\n", &known);
        let reach = |chosen: &[&str]| {
            let ids: Vec<StoryId> =
                chosen.iter().map(|text| keys::read(text, &known).unwrap().id).collect();
            reach(&file, &ids).map(|(reached, last)| (reached, last.to_string()))
        };
        assert_eq!(reach(&[]), Some((false, "2.1".into())));
        assert_eq!(reach(&["1.1", "1.3"]), Some((true, "1.3".into())));
        assert_eq!(reach(&["1-3-c"]), Some((true, "1.3".into())));
        assert_eq!(reach(&["1.1"]), Some((false, "1.3".into())));
        assert_eq!(reach(&["1.3", "1.4"]), Some((false, "1.3".into())));
        assert_eq!(reach(&["7.1"]), Some((false, "2.1".into())));
        assert_eq!(reach(&["2.9"]), Some((false, "2.1".into())));
    }
}
