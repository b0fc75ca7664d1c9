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
  return JSON.parse(await planOutput(lab, '-o', 'json', ...words))
}

/** The output of `node-proxy plan`; throws if the exit code is not 0. */
export function planOutput(lab: Lab, ...words: readonly string[]): Promise<string> {
  const flags = [`--config=${lab.daemon.configFile}`, ...backendFlags()]
  const command = [LAUNCHER, 'plan', ...flags, ...words]
  return lab.node.namespace.exec(command, { timeoutMs: 150_000 })
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
