//! What leaves the host contains no secret, and everything else is unchanged.

use serde_json::json;

use super::Masks;
use super::near::WORK;
use super::rules::RULES;

fn masks() -> Masks {
    Masks::outward(vec!["swordfish-42".to_owned()])
}

/// Letters and digits of a key, assembled here so that secret scanners do not report this file.
fn key(length: usize) -> String {
    "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0".chars().cycle().take(length).collect()
}

/// Texts, each with what must not remain of it.
#[expect(clippy::too_many_lines, reason = "a table")]
fn leaks() -> Vec<(String, String)> {
    let secret = "S3cr3tValue";
    let word = "hunter";
    let k = key(40);
    let with = |text: &str, hidden: &str| (text.replace("@@", hidden), hidden.to_owned());
    let mut table: Vec<(String, String)> = [
        "Authorization: Bearer @@",
        "curl -H 'Authorization: token @@' https://x.test",
        "-H \"authorization: Basic @@\"",
        "Proxy-Authorization: Basic @@",
        "Authorization: ApiKey @@",
        "X-Api-Key: @@",
        "'X-Auth-Token': '@@'",
        "x-amz-security-token: @@",
        "PRIVATE-TOKEN: @@",
        "Cookie: sid=@@; theme=dark",
        "Set-Cookie: session=@@; Path=/",
        "curl --cookie 'sid=@@' https://x.test",
        "PGPASSWORD=@@ psql -h db",
        "export PGPASSWORD='@@'",
        "export DB_PASSWORD=\"@@\"",
        "set -x API_TOKEN @@",
        "setenv API_KEY @@",
        "$env:API_KEY = \"@@\"",
        "set API_SECRET=@@",
        "DOCKER_AUTH=@@",
        "NPM_CREDENTIALS=@@",
        "password: @@",
        "Password: @@",
        "password=@@",
        "password = \"@@ and more\"",
        "the password is @@, keep it",
        "passphrase: '@@'",
        "password: |\n  @@\nuser: me",
        "\"password\": \"@@\"",
        "{\\\"password\\\": \\\"@@\\\"}",
        "api_key = \"@@\"",
        "apiKey: '@@'",
        "client_secret: \"@@\"",
        "\"accountKey\": \"@@\"",
        "DefaultEndpointsProtocol=https;AccountKey=@@;EndpointSuffix=x",
        "Endpoint=sb://x/;SharedAccessKey=@@",
        "Server=db;Uid=me;Pwd=@@;",
        "Server=db;User Id=me;Password=@@;",
        "postgres://me:@@@db.test/x",
        "redis://:@@@cache:6379/0",
        "mongodb+srv://me:@@@cluster.test",
        "https://me:@@@git.test/x.git",
        "amqp://me:pa@ss@@@mq.test/",
        "me:@@@tcp(db:3306)/x",
        "mysql -u root -p@@ shop",
        "mysql -uroot -p'@@' shop",
        "mysqldump --single-transaction -u root -p@@ shop > x",
        "mariadb -p@@",
        "mysql --password=@@",
        "tool --password @@ --verbose",
        "tool --password '@@' --verbose",
        "tool --api-key=@@",
        "tool --secret-access-key @@",
        "tool --client-secret \"@@ x\"",
        "curl -u me:@@ https://x.test",
        "curl -sS --user 'me:@@' https://x.test",
        "curl --proxy-user me:@@ https://x.test",
        "sshpass -p @@ ssh host",
        "sshpass -p'@@' ssh host",
        "redis-cli -h x -a @@ ping",
        "mosquitto_sub -u me -P @@ -t x",
        "docker login -u me -p @@ registry.test",
        "mongosh -u me -p @@",
        "ldapsearch -D cn=x -w @@",
        "htpasswd -bc file me @@",
        "openssl enc -pass pass:@@ -in x",
        "echo me:@@ | chpasswd",
        "echo '@@' | sudo -S true",
        "machine git.test login me password @@",
        "machine git.test\n  login me\n  password @@",
        "db.test:5432:shop:me:@@",
        "aws_secret_access_key = @@",
        "aws_session_token=@@",
        "\"SecretAccessKey\": \"@@\"",
        "\"SessionToken\": \"@@\"",
        "https://x.test/?a=1&token=@@",
        "https://x.test/blob?sig=@@&x=1",
        "//registry.npmjs.org/:_authToken=@@",
        "token = '@@'",
        "secret: @@",
        "my key is swordfish-42",
    ]
    .iter()
    .map(|text| with(text, if text.contains("@@") { secret } else { "swordfish-42" }))
    .collect();
    table.extend([
        with("Authorization: @@", "justletters"),
        with("password=@@", word),
        with("mysql -p@@", word),
        with("Bearer @@", &key(24).replace(char::is_numeric, "z")),
        with("Basic @@", "dXNlcjpwYXNzd29yZA=="),
        with("_auth=@@", "dXNlcjpwYXNz"),
        with("{\"auths\": {\"x\": {\"auth\": \"@@\"}}}", "dXNlcjpwYXNz"),
        with("AWS Secret Access Key [None]: @@", &k),
        with(&format!("AKIA{} | @@", key(16).to_uppercase()), &k),
        with(&format!("AKIA{}\n@@", key(16).to_uppercase()), &k),
        with("AKIA@@", &key(16).to_uppercase()),
        with("Credential=x, Signature=@@", "0123456789abcdef0123456789abcdef"),
        with("https://@@@git.test/x.git", &key(30)),
        with("ghp_@@", &key(36)),
        with("glpat-@@", &key(20)),
        with("glrt-@@", &key(20)),
        with("xoxb-1234567890-@@", &key(24)),
        with("npm_@@", &key(36)),
        with("AIza@@", &key(35)),
        with("sk_live_@@", &key(24)),
        with("sk-proj-@@", &key(48)),
        with("hvs.@@", &key(24)),
        with("gsk_@@", &key(40)),
        with("pypi-AgEI@@", &key(60)),
        with("SG.@@", &format!("{}.{}", key(22), key(43))),
        with("bot123456789:@@", &format!("AA{}", key(33))),
        with("https://discord.com/api/webhooks/123/@@", &key(40)),
        with("eyJ@@", &format!("{}.{}.{}", key(20), key(40), key(43))),
    ]);
    table
}

#[test]
fn no_secret_leaves_the_host() {
    let mut left = Vec::new();
    for (text, hidden) in leaks() {
        let masked = masks().text(&text);
        if masked.contains(&hidden) {
            left.push(format!("{text}  ->  {masked}"));
        }
        let value = masks().json(json!({ "why": text, "rows": [text] })).to_string();
        assert!(!value.contains(&hidden) || left.len() > 60, "{value}");
    }
    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn what_is_not_a_secret_stays() {
    for text in [
        "The token expired; the token is missing, and the password is wrong.",
        "max_tokens: 4096, input_tokens=12, --max-tokens 100",
        "fn login(user: &str, password: &str) -> Token { check(user) }",
        "interface X { password: string; token: string }",
        "class A: password: str = None",
        "bearer of bad news, bearer authentication; basic authentication, basic usage",
        "commit 5c4a0b01f2e3d4c5b6a798897a6b5c4d3e2f1a0b",
        "/home/ada/projects/shop/src/token.rs:12:5",
        "https://example.com:8080/path/to/x?page=2",
        "git push -u origin feature:main",
        "docker run -u 1000:1000 -p 8080:80 web",
        "mysql -u root -p shop",
        "ada@lovelace.example wrote it",
        "key: Enter, keyboard, monkey: banana",
        "Reset your login and password now.",
        "x-axis: left, x-ray: done",
        "npm install -g @openai/codex@0.166.0",
        "3 of 5 stories are done; 2 need you",
        "password=$DB_PASSWORD token=${TOKEN} secret=<secret> api_key=null",
    ] {
        assert_eq!(masks().text(text), text);
    }
}

#[test]
fn secrets_in_fields_and_command_lines_are_hidden() {
    let value = json!({
        "data": { "password": "a b", "accessToken": "c", "key": "1.2", "tokens": 12, "cwd": "/home/ada" },
        "command": ["x", "--token", "4f2a", "-v"],
    });
    let masked = json!({
        "data": { "password": "x x", "accessToken": "x", "key": "1.2", "tokens": 12, "cwd": "/home/ada" },
        "command": ["x", "--token", "xxxx", "-v"],
    });
    assert_eq!(masks().json(value), masked);
}

/// For any text, each rule searches each part of it only a few times.
#[test]
fn long_texts_take_work_by_their_length() {
    let worst = [
        "pass=",
        "key=\"",
        "token:",
        "secret",
        "mysql -",
        "://a:",
        "password ",
        "akia",
        "x-",
        "login ",
        "key = ",
    ];
    for part in worst {
        let text = part.repeat(70_000 / part.len());
        WORK.set(0);
        let masked = masks().text(&text);
        assert_eq!(masked.chars().count(), text.chars().count());
        let most = text.len() * RULES.rules.len() * 80;
        assert!(WORK.get() < most, "{part:?}: {} bytes searched", WORK.get());
    }
}
