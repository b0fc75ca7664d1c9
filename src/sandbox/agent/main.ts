import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { ask } from './ask.ts'
import type { AgentReply, AgentRequest } from './protocol.ts'
import { servePod } from './serve.ts'

/**
 * The sandbox's hands inside one namespace: sends requests on command, and is
 * a pod's HTTP server when it has an address to serve. Ends when its standard
 * input does, so that it never outlives the sandbox.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      name: { type: 'string', default: '' },
      host: { type: 'string', default: '' },
      port: { type: 'string', default: '8080' },
    },
  })
  if (values.host !== '') await servePod(values.name, values.host, Number(values.port))
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => void answer(JSON.parse(line) as AgentRequest))
  lines.on('close', () => process.exit(0))
  say({ ready: true })
}

async function answer({ id, question }: AgentRequest): Promise<void> {
  say({ id, answer: await ask(question) })
}

function say(reply: AgentReply): void {
  process.stdout.write(`${JSON.stringify(reply)}\n`)
}

await main()
