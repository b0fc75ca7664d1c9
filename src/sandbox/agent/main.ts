import { createInterface } from 'node:readline'
import type { AgentReply, AgentRequest } from './agent.ts'
import { sendRequest } from './send-request.ts'

/**
 * The sandbox's agent inside one namespace: sends requests on command. Ends when
 * its standard input does, so that it never outlives the sandbox.
 */
function main(): void {
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => void answer(JSON.parse(line) as AgentRequest))
  lines.on('close', () => process.exit(0))
  write({ ready: true })
}

async function answer({ id, request }: AgentRequest): Promise<void> {
  write({ id, answer: await sendRequest(request) })
}

function write(reply: AgentReply): void {
  process.stdout.write(`${JSON.stringify(reply)}\n`)
}

main()
