// Asks ccmanager's detectors what screens show: a line of JSON in for each screen, a line of JSON out.
//
//   node ccmanager.mjs FOLDER
//
// FOLDER is where lab/scoreboard/peers/install put it.

import {createInterface} from 'node:readline';
import {pathToFileURL} from 'node:url';
import path from 'node:path';

const folder = path.resolve(process.argv[2], 'node_modules/ccmanager/dist/services/stateDetector');
const {createStateDetector} = await import(pathToFileURL(path.join(folder, 'index.js')));

const KNOWN = {
	claude: 'claude',
	codex: 'codex',
	gemini: 'gemini',
	opencode: 'opencode',
	copilot: 'github-copilot',
	kimi: 'kimi',
};
const WORDS = {busy: 'working', waiting_input: 'waiting', idle: 'idle'};

// What the detectors use of an xterm terminal.
function terminal({text, width, height}) {
	const lines = text.split('\n');
	while (lines.length < height) lines.push('');
	const line = index => ({translateToString: () => lines[index], length: width, isWrapped: false});
	const active = {
		type: 'normal',
		length: lines.length,
		baseY: Math.max(0, lines.length - height),
		viewportY: Math.max(0, lines.length - height),
		cursorX: 0,
		cursorY: 0,
		getLine: index => (index >= 0 && index < lines.length ? line(index) : undefined),
	};
	return {buffer: {active, normal: active, length: lines.length}, rows: height, cols: width};
}

for await (const row of createInterface({input: process.stdin})) {
	const screen = JSON.parse(row);
	let state = null;
	if (screen.agent in KNOWN) {
		const said = createStateDetector(KNOWN[screen.agent]).detectState(terminal(screen), 'idle');
		state = WORDS[said] ?? 'unknown';
	}

	process.stdout.write(JSON.stringify({state}) + '\n');
}
