import { createInterface } from 'node:readline'
import { type ProbeRequest, runProbe } from './prober.ts'

/**
 * Runs probes from inside the node's network namespace, one JSON line per
 * target and answer. Ends when its standard input does, so that it never
 * outlives the node agent.
 */
function main(): void {
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => void answer(JSON.parse(line) as ProbeRequest))
  lines.on('close', () => process.exit(0))
}

async function answer({ id, target, timeoutMs }: ProbeRequest): Promise<void> {
  const outcome = await runProbe(target, timeoutMs)
  process.stdout.write(`${JSON.stringify({ id, ...outcome })}\n`)
}

main()
