/* Sends requests to a URL at an even pace: sender.mjs URL PER_SECOND SECONDS. */
import { Agent, request } from 'node:http';

const EVERY_MS = 20;
const [url, perSecond, seconds] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const agent = new Agent({ keepAlive: true, maxSockets: 50 });
const headers = { 'Content-Type': 'application/json', 'X-GitHub-Event': 'push' };
const body = JSON.stringify({ event: 'example', data: 'x'.repeat(1_000) });

function send() {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** As senders do: a 503 promises nothing, so it is sent again. */
async function sendUntilKept() {
  for (;;) {
    const status = await send();
    if (status === 200) return;
    if (status !== 503) throw new Error(`${status}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const start = performance.now();
const sent = [];
while (sent.length < perSecond * seconds) {
  const due = ((performance.now() - start) / 1_000) * perSecond;
  while (sent.length < Math.min(due, perSecond * seconds)) sent.push(sendUntilKept());
  await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
}
await Promise.all(sent);
agent.destroy();
