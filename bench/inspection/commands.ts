import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { serviceName } from '../cluster/objects.ts'
import { PROBES, toText } from '../lab/plan.ts'
import type { CommandName } from '../report/inspection/results.ts'

/** The node on which commands run. */
export interface CommandNode {
  readonly namespace: string
  /** The socket of the inspection service. */
  readonly socket: string
  /** The number of Services; commands are about the last one. */
  readonly services: number
  /** A new folder for recorded bundles. */
  readonly folder: string
}

const PROGRAM = new URL('../../bin/node-proxy', import.meta.url).pathname

/** Accepted exit codes. doctor ends with 1 if it finds something, as it may on a busy machine. */
const ANSWERS: readonly (number | null)[] = [0, 1]

/** Runs a command once. @returns milliseconds from its start to its end @throws if it fails */
export function timeCommand(node: CommandNode, name: CommandName): number {
  const command = commandOf(node, name)
  const startedAt = performance.now()
  const ended = spawnSync('ip', ['netns', 'exec', node.namespace, ...command], {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  })
  const ms = performance.now() - startedAt
  if (!ANSWERS.includes(ended.status)) throw new Error(`${command.join(' ')}: ${ended.stderr}`)
  return ms
}

function commandOf(
  { socket, services, folder }: CommandNode,
  name: CommandName,
): readonly string[] {
  if (name === 'nft') return ['nft', 'list', 'ruleset']
  const service = `default/${serviceName(services - 1)}`
  const args: Readonly<Record<typeof name, readonly string[]>> = {
    status: [],
    entries: [service],
    explain: [toText(PROBES + 1), service],
    doctor: [],
    record: [join(folder, `${performance.now()}.tar.gz`)],
  }
  return [PROGRAM, name, ...args[name], `--socket=${socket}`]
}
