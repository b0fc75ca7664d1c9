import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type IpAddress, parseIp } from '../../lib/ip.ts'
import { DispatchTree, dispatchKey, matchStep } from './dispatch-tree.ts'

const ip = (text: string) => parseIp(text) as IpAddress

interface Destination {
  readonly id: string
  readonly ip: IpAddress | 'node'
  readonly port: number
}

function destination(address: IpAddress | 'node', port: number): Destination {
  return { id: `${address}:${port}`, ip: address, port }
}

function add(tree: DispatchTree, { id, ip: address, port }: Destination, rules = [`-g ${id}`]) {
  tree.replace(id, dispatchKey(address, 'TCP', port), rules)
}

function remove(tree: DispatchTree, { id, ip: address, port }: Destination) {
  tree.replace(id, dispatchKey(address, 'TCP', port), [])
}

/** All chains that the root leads to, with their rules. */
function chainsOf(tree: DispatchTree, root: string): ReadonlyMap<string, readonly string[]> {
  const chains = new Map<string, readonly string[]>()
  const visit = (chain: string) => {
    const rules = tree.rules(chain)
    if (rules === undefined || chains.has(chain)) return
    chains.set(chain, rules)
    for (const rule of rules) visit(rule.slice(rule.lastIndexOf(' ') + 1))
  }
  visit(root)
  return chains
}

const fresh = () => new DispatchTree('ROOT', 'T-')
const service = (index: number) => destination(ip(`10.96.${index >> 8}.${index & 255}`), 80)

test('few destinations need no tree', () => {
  const tree = fresh()
  for (let i = 0; i < 48; i++) add(tree, service(i))
  expect([...chainsOf(tree, 'ROOT').keys()]).toEqual(['ROOT'])
  expect(tree.rules('ROOT')).toHaveLength(48)
})

test('many destinations are found in tens of rules', () => {
  const tree = fresh()
  for (let i = 0; i < 10_000; i++) add(tree, service(i))
  const chains = chainsOf(tree, 'ROOT')
  expect(chains.size).toBeLessThan(400)
  expect(Math.max(...[...chains.values()].map((rules) => rules.length))).toBeLessThanOrEqual(48)
})

test('a change touches one leaf', () => {
  const tree = fresh()
  for (let i = 0; i < 10_000; i++) add(tree, service(i))
  tree.takeChanged()
  add(tree, destination(ip('10.96.7.7'), 443))
  expect(tree.takeChanged().size).toBe(1)
})

test('equal rules change nothing', () => {
  const tree = fresh()
  add(tree, service(1))
  tree.takeChanged()
  add(tree, service(1))
  expect(tree.takeChanged().size).toBe(0)
})

test('many ports of one address are split by port range', () => {
  const tree = fresh()
  for (let port = 8000; port < 8200; port++) add(tree, destination(ip('192.0.2.1'), port))
  const [first] = tree.rules('ROOT') ?? []
  expect(first).toBe('-p tcp -m tcp --dport 4096:8191 -g T-91')
})

test('a split is undone when the one that differed goes', () => {
  const tree = fresh()
  const direct = fresh()
  for (let i = 0; i < 60; i++) {
    add(tree, service(16 * i))
    add(direct, service(16 * i))
  }
  add(tree, service(1))
  remove(tree, service(1))
  expect(chainsOf(tree, 'ROOT')).toEqual(chainsOf(direct, 'ROOT'))
})

const destinations = fc.uniqueArray(
  fc
    .tuple(
      fc.oneof(
        fc.constant('node' as const),
        fc.nat(600).map((index) => ip(`10.96.${index >> 8}.${index & 255}`)),
        fc.nat(40).map((index) => ip(`fd00::${(index + 1).toString(16)}`)),
      ),
      fc.integer({ min: 1, max: 300 }),
    )
    .map(([address, port]) => destination(address, port)),
  { minLength: 120, maxLength: 260, selector: ({ id }) => id },
)

test('its chains depend only on what it holds, not on how it came there', () => {
  fc.assert(
    fc.property(
      destinations,
      fc.array(fc.nat(259), { minLength: 100, maxLength: 500 }),
      (all, moves) => {
        const byFamily = all.filter((one) => (one.ip === 'node') === (all[0]?.ip === 'node'))
        const same = byFamily.filter(
          (one) => one.ip.length > 8 === (byFamily[0]?.ip.length ?? 0) > 8,
        )
        const v6 = (one: Destination) => one.ip.includes(':')
        const kept = same.filter((one) => v6(one) === v6(same[0] as Destination))
        const walked = fresh()
        const present = new Set<Destination>()
        for (const move of moves) {
          const one = kept[move % kept.length] as Destination
          if (present.delete(one)) remove(walked, one)
          else add(walked, present.add(one) && one)
        }
        const direct = fresh()
        for (const one of [...present].sort((a, b) => (a.id < b.id ? 1 : -1))) add(direct, one)
        expect(chainsOf(walked, 'ROOT')).toEqual(chainsOf(direct, 'ROOT'))
      },
    ),
    { numRuns: 300 },
  )
})

test('what is reported as changed turns the old chains into the new ones', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(700), { minLength: 60, maxLength: 700 }), (moves) => {
      const tree = fresh()
      const copy = new Map<string, readonly string[]>()
      const present = new Set<number>()
      for (const [step, move] of moves.entries()) {
        if (present.delete(move)) remove(tree, service(move))
        else {
          present.add(move)
          add(tree, service(move))
        }
        if (step % 7 !== 0 && step !== moves.length - 1) continue
        for (const chain of tree.takeChanged()) {
          const rules = tree.rules(chain)
          if (rules) copy.set(chain, rules)
          else copy.delete(chain)
        }
      }
      expect(copy).toEqual(chainsOf(tree, 'ROOT'))
    }),
    { numRuns: 200 },
  )
})

test.each([
  ['10.96.0.5', 0, '-d 0.0.0.5/0.0.0.15 '],
  ['10.96.0.80', 1, '-d 0.0.0.80/0.0.0.240 '],
  ['10.96.3.5', 2, '-d 0.0.3.0/0.0.15.0 '],
  ['10.96.0.5', 6, '-d 10.0.0.0/15.0.0.0 '],
  ['172.16.0.1', 7, '-d 160.0.0.0/4 '],
  ['10.96.0.5', 8, '-p tcp '],
  ['10.96.0.5', 9, '-p tcp -m tcp --dport 28672:32767 '],
  ['10.96.0.5', 12, '-p tcp -m tcp --dport 30000 '],
  ['fd00::a5', 0, '-d ::5/::f '],
  ['fd00::5:0', 4, '-d ::0.5.0.0/::0.15.0.0 '],
  ['fd00::5:0:0', 8, '-d ::5:0:0/::f:0:0 '],
  ['fd00::5', 31, '-d f000::/4 '],
])('%s at step %i is %s', (address, step, rule) => {
  expect(matchStep(dispatchKey(ip(address), 'TCP', 30_000), step)).toBe(rule)
})
