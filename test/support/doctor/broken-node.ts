import { expect } from 'vitest'
import type { Lab } from '../lab/lab.ts'
import { nodeFindings } from './node-findings.ts'

/** A real fault that breaks Services on a node. */
export interface BrokenNode {
  readonly name: string
  /** Commands in the namespace of the node, and those that undo them. */
  readonly run: readonly string[]
  readonly undo: readonly string[]
  /** The check of the first finding. */
  readonly check: string
  readonly cause: RegExp
  /** A part of its evidence. */
  readonly seen?: RegExp
  readonly flags?: readonly string[]
}

/** Breaks the node, expects that the right cause is found first, and repairs the node. */
export async function expectFound(lab: Lab, broken: BrokenNode): Promise<void> {
  const { check, cause, seen = / /, flags = [] } = broken
  try {
    for (const command of broken.run) await run(lab, command)
    const [first] = await nodeFindings(lab, ...flags)
    expect(first).toMatchObject({ check, cause: expect.stringMatching(cause) })
    expect(first?.object).toBe('node/test-node')
    expect(first?.evidence.join('\n')).toMatch(seen)
  } finally {
    for (const command of broken.undo) await run(lab, command)
  }
}

/** Words that are separated by spaces. */
export async function run(lab: Lab, command: string): Promise<void> {
  await lab.node.namespace.exec(command.split(' '))
}
