import { createInterface } from 'node:readline'
import { ask } from './ask.ts'
import type { AgentReply, AgentRequest } from './protocol.ts'

/**
 * The sandbox's hands inside one namespace: sends requests on command. Ends when
 * its standard input does, so that it never outlives the sandbox.
 */
function main(): void {
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

main()
