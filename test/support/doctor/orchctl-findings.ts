import { dirname, join } from 'node:path'
import type { Finding } from '../../../src/doctor/evidence/finding.ts'
import { type CommandResult, runProgram } from '../inspection/run-program.ts'
import type { Lab } from '../lab/lab.ts'
import { launcherOf } from '../programs.ts'

const PROGRAM = launcherOf('orchctl')

/** Runs `orchctl doctor -o json` on the lab's node; see `orchctlOnNode`. */
export function orchctlDoctor(lab: Lab, ...words: readonly string[]): Promise<CommandResult> {
  return orchctlOnNode(lab, 'doctor', '-o', 'json', ...words)
}

/** Runs `orchctl` on the lab's node, whose server is orch-server; as its administrator unless given. */
export async function orchctlOnNode(lab: Lab, ...words: readonly string[]): Promise<CommandResult> {
  const folder = dirname(lab.daemon.configFile)
  const prefix = join(folder, 'orchctl-doctor')
  const kubeconfig = `--kubeconfig=${join(folder, 'orch-server/admin.kubeconfig')}`
  const given = words.some((word) => word.startsWith('--kubeconfig=')) ? [] : [kubeconfig]
  const place = { site: lab.node, prefix, timeoutMs: 90_000, home: folder }
  return await runProgram(place, PROGRAM, ...words, ...given)
}

/** The findings of `orchctl doctor`. */
export async function orchctlFindings(
  lab: Lab,
  ...words: readonly string[]
): Promise<readonly Finding[]> {
  const { stdout, stderr } = await orchctlDoctor(lab, ...words)
  if (stdout === '') throw new Error(`orchctl doctor ${words.join(' ')}: ${stderr}`)
  return JSON.parse(stdout) as readonly Finding[]
}
