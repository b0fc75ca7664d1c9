import { createInterface } from 'node:readline'
import type { ProbeRequest } from './protocol.ts'
import { ask } from './run-probe.ts'

/**
 * Asks probes from inside the node's network namespace, one JSON line per
 * question and answer. Ends when its standard input does, so that it never
 * outlives the node agent.
 */
function main(): void {
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => void answer(JSON.parse(line) as ProbeRequest))
  lines.on('close', () => process.exit(0))
}

async function answer({ id, question, timeoutMs }: ProbeRequest): Promise<void> {
  const outcome = await ask(question, timeoutMs)
  process.stdout.write(`${JSON.stringify({ id, ...outcome })}\n`)
}

main()
