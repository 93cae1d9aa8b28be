// Counts the tokens of one exercise from the log of the model double: what the lead read and wrote from "[orchestrate]" on.
//
//   node count.mjs LOG        (SHOW=1 prints the text that is counted)
//
// Two tokenizers: o200k_base, that of the GPT models, and the one that Anthropic published for older Claude models; newer ones have none
// that runs here, so for them both are estimates.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(process.env.TOKENIZERS + '/');
const { countTokens: o200k } = require('gpt-tokenizer/encoding/o200k_base');
const { countTokens: claude } = require('@anthropic-ai/tokenizer');

const lines = readFileSync(process.argv[2], 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
const requests = lines.filter((line) => line.event === 'request').map((line) => line.request);
const texts = (content) =>
  typeof content === 'string' ? [content]
  : content.flatMap((block) =>
      block.type === 'text' ? [block.text]
      : block.type === 'tool_use' ? [block.name, JSON.stringify(block.input)]
      : block.type === 'tool_result' ? texts(block.content ?? '')
      : []);
const isOfLead = (request) => request.body?.messages && !request.side && JSON.stringify(request.body.messages).includes('[orchestrate]');
const ofLead = requests.filter(isOfLead);
const begin = (messages) => messages.findIndex((message) => JSON.stringify(message.content).includes('[orchestrate]'));
const exercise = (request) => request.body.messages.slice(begin(request.body.messages)).flatMap((message) => texts(message.content)).join('\n');

const last = ofLead.at(-1);
const tools = last.body.tools
  .filter((tool) => tool.name.includes('dogwatch'))
  .map((tool) => JSON.stringify({ name: tool.name, description: tool.description, input_schema: tool.input_schema }))
  .join('\n');
const skill = exercise(last).match(/Base directory for this skill:[^]*?Trust `asserted`[^\n]*/)?.[0] ?? '';
const talk = exercise(last).replace(skill, '');
const again = ofLead.map(exercise);
if (process.env.SHOW) console.log(talk);
for (const [name, count] of [['o200k_base', o200k], ['claude (old)', claude]]) {
  const all = again.reduce((sum, text) => sum + count(text), 0);
  console.log(`  ${name}: tools ${count(tools)}, skill ${count(skill)}, exercise ${count(talk)}; ${ofLead.length} requests, which together carried the exercise ${all}`);
}
