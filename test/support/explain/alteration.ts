import { expect } from 'vitest'
import { observedWords } from '../../../src/explain/compare-outcomes.ts'
import { type Deployment, deploy } from '../flows/deploy.ts'
import type { Lab } from '../lab/lab.ts'
import { differencesNow, readExpectation } from './differences.ts'
import type { LabPacket } from './predict.ts'

/** A manual change of something in the kernel. */
export interface Alteration {
  readonly name: string
  readonly packet?: LabPacket
  readonly service?: Deployment
  /** Rules to delete: those of this table that match. */
  readonly remove?: { readonly table: string; readonly rule: RegExp }
  /** Replaces a part of the rule that `remove` deletes, instead of deleting it. */
  readonly by?: readonly [from: string | RegExp, to: string]
  /** Commands of another program, and those that undo them. */
  readonly run?: readonly string[]
  readonly undo?: readonly string[]
  /** Whether only replies are lost, so that no packets are sent. */
  readonly losesReplies?: boolean
  /** What explain must say. */
  readonly named: RegExp
}

/** The packet and the Service for alterations that have none of their own. */
export interface Usual {
  readonly packet: LabPacket
  readonly service: Deployment
}

/** Alters the kernel while the daemon is suspended, and expects that explain names the difference. */
export async function expectNamed(lab: Lab, change: Alteration, usual: Usual): Promise<void> {
  const { packet, service } = { ...usual, ...change }
  await deploy(lab, service)
  const expected = await readExpectation(lab, packet)
  lab.daemon.signal('SIGSTOP')
  await alter(lab, change)
  try {
    const sends = change.losesReplies !== true
    const { differences, observed } = await differencesNow(lab, packet, { expected, sends })
    const isNamed = change.named.test(differences.join('\n'))
    expect(isNamed ? [] : [...differences, ...observed.map(observedWords)]).toEqual([])
  } finally {
    for (const command of change.undo ?? []) await run(lab, command)
  }
}

async function alter(lab: Lab, change: Alteration): Promise<void> {
  for (const command of change.run ?? []) await run(lab, command)
  if (change.remove === undefined) return
  const { table, rule } = change.remove
  const listing = await lab.node.namespace.exec(['iptables-save', '-t', table])
  const lines = listing.split('\n').filter((line) => line.startsWith('-A') && rule.test(line))
  expect(lines).not.toEqual([])
  for (const line of lines) await rewrite(lab, { table, listing, line, by: change.by })
}

interface Rewriting {
  readonly table: string
  readonly listing: string
  readonly line: string
  readonly by: Alteration['by']
}

/** Deletes a rule, or replaces it at its place. */
async function rewrite(lab: Lab, { table, listing, line, by }: Rewriting): Promise<void> {
  const [, chain = '', ...words] = line.trim().split(' ')
  if (by === undefined) return await run(lab, `iptables -t ${table} -D ${chain} ${words.join(' ')}`)
  const rules = listing.split('\n').filter((one) => one.startsWith(`-A ${chain} `))
  const changed = words.join(' ').replace(...by)
  await run(lab, `iptables -t ${table} -R ${chain} ${rules.indexOf(line) + 1} ${changed}`)
}

async function run(lab: Lab, command: string): Promise<void> {
  await lab.node.namespace.exec(command.split(' '))
}
