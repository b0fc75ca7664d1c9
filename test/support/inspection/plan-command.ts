import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NodePlan } from '../../../src/nodeproxy/commands/plan/node-plan.ts'
import { backendFlags } from '../lab/daemon-config.ts'
import type { Lab } from '../lab/lab.ts'
import { logged } from '../lab/log-lines.ts'
import type { ApiObject } from '../lab/objects.ts'
import { LAUNCHER } from './node-command.ts'

/** Keys of objects in the kernel, sorted. */
export interface Keys {
  readonly set: readonly string[]
  readonly unset: readonly string[]
}

/** Runs `node-proxy plan` on the lab's node, with the configuration of its daemon. */
export async function runPlan(lab: Lab, ...words: readonly string[]): Promise<NodePlan> {
  const ran = await lab.commands.run(planWords(lab, '-o', 'json', ...words))
  if (ran.code !== 0) throw new Error(`node-proxy plan ended with ${ran.code}: ${ran.stderr}`)
  return JSON.parse(ran.stdout)
}

/** The output of `node-proxy plan`, in a process of its own; throws if the exit code is not 0. */
export function planOutput(lab: Lab, ...words: readonly string[]): Promise<string> {
  return lab.node.namespace.exec([LAUNCHER, ...planWords(lab, ...words)], { timeoutMs: 150_000 })
}

function planWords({ daemon }: Lab, ...words: readonly string[]): readonly string[] {
  return ['plan', `--config=${daemon.configFile}`, ...backendFlags(), ...words]
}

/** A file with these objects, for `-f`. */
export function manifestFile(lab: Lab, ...objects: readonly ApiObject[]): string {
  const file = join(lab.folder, 'plan.yaml')
  writeFileSync(file, objects.map((one) => `---\n${JSON.stringify(one)}\n`).join(''))
  return file
}

/** The keys of a plan. */
export function keysOf({ services, shared }: NodePlan): Keys {
  const objects = [...services.flatMap((one) => one.objects), ...shared]
  const named = (isRemoved: boolean) =>
    objects
      .filter(({ action }) => (action === 'remove') === isRemoved)
      .map(({ key }) => key)
      .toSorted()
  return { set: named(false), unset: named(true) }
}

/** The keys of each run of the daemon, which must log at -v 6, without objects that are not in the kernel. */
export function runsOf({ daemon }: Pick<Lab, 'daemon'>): readonly Keys[] {
  return logged(daemon)
    .filter(({ msg }) => msg === 'the objects of this run')
    .map(({ set, unset }) => ({ set: inKernel(set), unset: inKernel(unset) }))
    .filter(({ set, unset }) => set.length + unset.length > 0)
}

function inKernel(keys: unknown): readonly string[] {
  return (keys as readonly string[]).filter((key) => !/^(entry|relay)\//.test(key)).toSorted()
}
