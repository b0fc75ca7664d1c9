import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { IpvsCommand, RealServer, VirtualServerId } from '../../../kernel/ipvs/ipvs.ts'
import { FakeIpvs } from '../../../kernel/ipvs/testing/fake-ipvs.ts'
import { ip } from '../../testing/mode-fixtures.ts'
import { addressOf } from '../objects/object.ts'
import { planHold, planServer, quiescentIn, withoutServers } from './server-commands.ts'
import { canDrain, digestOf, flagsOf, type ServerSpec, specText } from './server-spec.ts'

const id: VirtualServerId = { family: 4, protocol: 'TCP', ip: ip('10.96.0.1'), port: 80 }
const drains = { drains: true }

function spec(scheduler: string, weights: Readonly<Record<string, number>>): ServerSpec {
  const servers = Object.entries(weights).map(
    ([address, weight]): RealServer => ({
      ip: ip(address),
      port: 80,
      weight,
      forwarding: 'masquerade',
      upperThreshold: 0,
      lowerThreshold: 0,
    }),
  )
  return { settings: { scheduler, flags: flagsOf(scheduler), persistence: undefined }, servers }
}

/** `addServer 10.0.0.1*1` */
function wordsOf(commands: readonly IpvsCommand[]): readonly string[] {
  return commands.map((command) => {
    if ('settings' in command) return `${command.do} ${command.settings.scheduler}`
    if (!('server' in command)) return command.do
    const weight = 'weight' in command.server ? `*${command.server.weight}` : ''
    return `${command.do} ${command.server.ip}${command.do === 'deleteServer' ? '' : weight}`
  })
}

test.each([
  ['nothing', undefined, ['addService rr', 'addServer 10.0.0.1*1', 'addServer 10.0.0.2*2']],
  ['the same', 'rr|10.0.0.1:80*1 10.0.0.2:80*2', []],
  ['another scheduler', 'lc|10.0.0.1:80*1 10.0.0.2:80*2', ['setService rr']],
  ['another weight', 'rr|10.0.0.1:80*5 10.0.0.2:80*2', ['setServer 10.0.0.1*1']],
  ['another way', 'rr|10.0.0.1:80*1/route 10.0.0.2:80*2', ['setServer 10.0.0.1*1']],
  ['one that drains', 'rr|10.0.0.1:80*0 10.0.0.2:80*2', ['setServer 10.0.0.1*1']],
  ['one more', 'rr|10.0.0.1:80*1 10.0.0.2:80*2 10.0.0.3:80*1', ['setServer 10.0.0.3*0']],
  ['one more that drains already', 'rr|10.0.0.1:80*1 10.0.0.2:80*2 10.0.0.3:80*0', []],
  [
    'one more that drains, of another process',
    'rr|10.0.0.1:80*1 10.0.0.2:80*2 10.0.0.3:80*0/route',
    ['setServer 10.0.0.3*0'],
  ],
])('from %s', (_, held, commands) => {
  const wanted = spec('rr', { '10.0.0.1': 1, '10.0.0.2': 2 })
  const plan = planServer(id, wanted, { held, ...drains })
  expect(wordsOf(plan.commands)).toEqual(commands)
  expect(digestOf(plan.text)).toBe(digestOf(specText(wanted)))
})

test('backends that left are taken out where nothing is drained', () => {
  const held = 'rr|10.0.0.1:80*1 10.0.0.2:80*0'
  const wanted = spec('rr', { '10.0.0.3': 1 })
  expect(wordsOf(planServer(id, wanted, { held, drains: false }).commands)).toEqual([
    'addServer 10.0.0.3*1',
    'deleteServer 10.0.0.1',
    'deleteServer 10.0.0.2',
  ])
  const byDestination = spec('dh', { '10.0.0.3': 1 })
  expect(wordsOf(planServer(id, byDestination, { held, ...drains }).commands)).toEqual([
    'setService dh',
    'addServer 10.0.0.3*1',
    'deleteServer 10.0.0.1',
    'deleteServer 10.0.0.2',
  ])
})

test('a virtual server that is held takes no new connections', () => {
  const plan = planHold(id, 'wlc 60/32|10.0.0.1:80*4 10.0.0.2:80*0')
  expect(wordsOf(plan.commands)).toEqual(['setServer 10.0.0.1*0', 'setServer 10.0.0.2*0'])
  expect(plan.text).toBe('wlc 60/32|10.0.0.1:80*0 10.0.0.2:80*0')
})

test('names in a text', () => {
  const text = 'rr|10.0.0.1:80*10 10.0.0.2:80*0 [fd00::1]:81*0/route'
  expect(quiescentIn(text)).toEqual(['10.0.0.2:80', '[fd00::1]:81'])
  expect(quiescentIn('rr|')).toEqual([])
  expect(withoutServers(text, new Set(['10.0.0.2:80', '[fd00::1]:81']))).toBe('rr|10.0.0.1:80*10')
  expect(addressOf('[fd00::1]:81')).toEqual({ ip: 'fd00::1', port: 81 })
  expect(addressOf('10.0.0.2:80')).toEqual({ ip: '10.0.0.2', port: 80 })
})

const addresses = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4']
const someSpec = fc
  .tuple(
    fc.constantFrom('rr', 'wlc', 'sh', 'dh'),
    fc.dictionary(fc.constantFrom(...addresses), fc.integer({ min: 1, max: 3 })),
  )
  .map(([scheduler, weights]) => spec(scheduler, weights))

test('commands lead from any state to the wanted one, and delete no draining backend early', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(someSpec, fc.boolean()), { minLength: 1, maxLength: 8 }),
      async (steps) => {
        const kernel = new FakeIpvs()
        let held: string | undefined
        for (const [wanted, drainsNow] of steps) {
          const before = await textIn(kernel)
          expect(before).toBe(held)
          const plan = planServer(id, wanted, { held, drains: drainsNow })
          expect(await kernel.run(plan.commands)).toEqual([])
          held = await textIn(kernel)
          expect(held).toBe(plan.text)
          expect(digestOf(plan.text)).toBe(digestOf(specText(wanted)))
          const keeps = drainsNow && canDrain(wanted.settings.scheduler)
          const deleted = plan.commands.filter((command) => command.do === 'deleteServer')
          if (keeps) expect(deleted).toEqual([])
          else expect(quiescentIn(plan.text)).toEqual([])
          expect(planServer(id, wanted, { held, drains: drainsNow }).commands).toEqual([])
        }
      },
    ),
    { numRuns: 300 },
  )
})

test('new backends serve before old ones stop', () => {
  fc.assert(
    fc.property(someSpec, someSpec, (from, to) => {
      const { commands } = planServer(id, to, { held: specText(from), ...drains })
      const kinds = commands.map((command) =>
        command.do === 'addServer' ? 'come' : isLeaving(command) ? 'go' : 'other',
      )
      if (kinds.includes('go')) expect(kinds.lastIndexOf('come')).toBeLessThan(kinds.indexOf('go'))
    }),
  )
})

function isLeaving(command: IpvsCommand): boolean {
  if (command.do === 'deleteServer') return true
  return command.do === 'setServer' && command.server.weight === 0
}

async function textIn(kernel: FakeIpvs): Promise<string | undefined> {
  const service = await kernel.service(id)
  const servers = await kernel.servers(id)
  return service && servers && specText({ settings: service.settings, servers })
}
