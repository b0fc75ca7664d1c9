import type { Finding } from '../../../src/doctor/evidence/finding.ts'
import { inspectionSocket } from '../inspection/node-command.ts'
import type { Lab } from '../lab/lab.ts'

/** What `node-proxy doctor` finds on the lab's node. */
export async function nodeFindings(
  lab: Lab,
  ...flags: readonly string[]
): Promise<readonly Finding[]> {
  const args = ['doctor', '-o', 'json', ...flags, `--socket=${inspectionSocket(lab)}`]
  const { code, stdout, stderr } = await lab.commands.run(args)
  if (stderr !== '') throw new Error(stderr)
  const findings = JSON.parse(stdout) as readonly Finding[]
  if (code !== (findings.length === 0 ? 0 : 1)) throw new Error(`exit code ${code}: ${stdout}`)
  return findings
}
