import { join } from 'node:path'
import type { SandboxOptions } from './arguments.ts'

/**
 * One run of the sandbox. Its name contains the process id of its owner, and the names of everything that it creates
 * contain its name, so that a later run can recognise what a dead one left behind.
 */
export interface Run {
  /** `np-sandbox-4711`. */
  readonly name: string
  /** Scratch folder: the cluster's data, kubeconfig and logs. */
  readonly folder: string
}

/** Milliseconds for a change in the cluster or in node-proxy. In User-mode Linux on a busy machine it takes minutes. */
export const CHANGE_MS = 300_000

/** Where the sandbox's node-proxy answers `node-proxy explain` and the like. */
export function inspectionSocketOf({ folder }: Pick<Run, 'folder'>): string {
  return join(folder, 'inspect.sock')
}

const NAME = /^(np-sandbox-(\d+))(?:-|$)/

export function runName(pid: number): string {
  return `np-sandbox-${pid}`
}

/** The network namespace of one role of a run: `np-sandbox-4711-client`. */
export function namespaceOf(run: string, role: string): string {
  return `${run}-${role}`
}

/** The run that a namespace or folder belongs to, and its owner; undefined for those of other programs. */
export function ownerOf(name: string): { readonly run: string; readonly pid: number } | undefined {
  const found = NAME.exec(name)
  if (found?.[1] === undefined) return undefined
  return { run: found[1], pid: Number(found[2]) }
}

/**
 * The exit code after a signal: success for a screen, which only ends that way, and failure for a tour, which was not
 * finished.
 */
export function codeOfInterruption({ once }: SandboxOptions): number {
  return once ? 130 : 0
}

/** What the supervisor passes to the process inside: its only argument, as JSON. */
export interface Orders {
  readonly run: Run
  readonly options: SandboxOptions
}

export function writeOrders(orders: Orders): string {
  return JSON.stringify(orders)
}

export function readOrders(text: string): Orders {
  return JSON.parse(text) as Orders
}
