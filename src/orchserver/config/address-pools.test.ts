import { expect, test } from 'vitest'
import { describeFault } from '../../lib/yaml.ts'
import { parseFlags } from '../../settings/flags.ts'
import { loadConfiguration } from '../../settings/load.ts'
import { configurationYaml } from '../../settings/settings.ts'
import { matchesSchema } from '../../settings/testing/matches-schema.ts'
import { addressPools } from './address-pools.ts'
import type { OrchServerConfiguration } from './configuration.ts'
import { SETTINGS_TABLE } from './settings-table.ts'

const HEAD = 'apiVersion: server.config.orch.io/v1alpha1\nkind: OrchServerConfiguration\n'
const BLUE = 'name: blue, addresses: [192.0.2.0/24]'
const PLAIN = { name: '', namespaces: [], autoAssign: true }

async function load(text: string, ...args: readonly string[]) {
  const flags = parseFlags(SETTINGS_TABLE, args)
  if (!flags.ok) throw new Error(describeFault(flags.problem))
  return loadConfiguration(
    SETTINGS_TABLE,
    { name: 's.yaml', text: text.startsWith('apiVersion') ? text : HEAD + text },
    flags.line,
  )
}

async function loaded(text: string, ...args: readonly string[]): Promise<OrchServerConfiguration> {
  const result = await load(text, ...args)
  if (!result.ok) throw new Error(result.problems.map(describeFault).join('\n'))
  return result.config
}

/** The settings of this list of pools, in the flow style of YAML. */
const pools = (list: string) => `loadBalancer:\n  addressPools: [${list}]\n`

test('plain networks and ranges are pools without a name, in files and flags', async () => {
  const wanted = [
    { ...PLAIN, addresses: ['192.0.2.0/24'] },
    { ...PLAIN, addresses: ['192.0.2.10-192.0.2.20'] },
  ]
  const list = '192.0.2.0/24, 192.0.2.10-192.0.2.20'
  expect((await loaded(pools(list))).loadBalancer.addressPools).toEqual(wanted)
  const flags = ['--load-balancer-pool=192.0.2.0/24', '--load-balancer-pool=192.0.2.10-192.0.2.20']
  expect((await loaded(pools(`{${BLUE}}`), ...flags)).loadBalancer.addressPools).toEqual(wanted)
})

test('a pool with everything reads back as it is written', async () => {
  const selector = 'matchExpressions: [{key: tier, operator: In, values: [gold]}]'
  const text = pools(
    `198.51.100.7, {${BLUE}, namespaces: [bank], namespaceSelector: {${selector}}, serviceSelector: {matchLabels: {public: "yes"}}, autoAssign: false}`,
  )
  const config = await loaded(text)
  expect(config.loadBalancer.addressPools).toEqual([
    { ...PLAIN, addresses: ['198.51.100.7'] },
    {
      name: 'blue',
      addresses: ['192.0.2.0/24'],
      namespaces: ['bank'],
      namespaceSelector: { matchExpressions: [{ key: 'tier', operator: 'In', values: ['gold'] }] },
      serviceSelector: { matchLabels: { public: 'yes' } },
      autoAssign: false,
    },
  ])
  expect(await loaded(await configurationYaml(SETTINGS_TABLE, config))).toEqual(config)
})

test('the schema of the charts accepts what the program does, and no pool without addresses', () => {
  const { schema } = addressPools
  const selector = { matchLabels: { tier: 'gold' } }
  const blue = { name: 'blue', addresses: ['192.0.2.0/24', 'fd00::1-fd00::9'] }
  const whole = { ...blue, namespaces: ['a'], namespaceSelector: selector, autoAssign: false }
  for (const accepted of [[], ['192.0.2.0/24'], [blue], ['10.0.0.1', whole]]) {
    expect(addressPools.decode(accepted).ok).toBe(true)
    expect(matchesSchema(schema, accepted)).toBe(true)
  }
  const wrong = [[5], [{ name: 'blue' }], [{ ...blue, addresses: [] }], [{ ...blue, x: 1 }]]
  for (const refused of wrong) {
    expect(addressPools.decode(refused).ok).toBe(false)
    expect(matchesSchema(schema, refused)).toBe(false)
  }
})

test.each([
  [
    '10.0.0.0/33',
    /^s\.yaml:4:18: loadBalancer\.addressPools\[0\]: "10\.0\.0\.0\/33": write networks/,
  ],
  ['5', /addressPools\[0\]: 5: write a network, a range, or a map with name and addresses/],
  ['{addresses: [192.0.2.1]}', /addressPools\[0\]: .*name is missing; write it/],
  ['{name: Blue, addresses: [192.0.2.1]}', /4:25: .*addressPools\[0\]\.name: "Blue": write a name/],
  ['{name: blue}', /addressPools\[0\]: .*addresses is missing; write it/],
  ['{name: blue, addresses: []}', /addressPools\[0\]\.addresses: \[\]: write networks or ranges/],
  ['{name: blue, addresses: [x]}', /addressPools\[0\]\.addresses\[0\]: "x": write networks/],
  [
    '{name: blue, addresses: 192.0.2.1}',
    /addressPools\[0\]\.addresses: "192\.0\.2\.1": write a list/,
  ],
  [
    `{${BLUE}, namespace: [a]}`,
    /addressPools\[0\]\.namespace: .*no such field; did you mean namespaces/,
  ],
  [
    `{${BLUE}, namespaces: [a, B]}`,
    /addressPools\[0\]\.namespaces\[1\]: "B": write names of namesp/,
  ],
  [`{${BLUE}, namespaces: }`, /addressPools\[0\]\.namespaces: null: write a list/],
  [`{${BLUE}, autoAssign: never}`, /addressPools\[0\]\.autoAssign: "never": write true or false/],
  [
    `{${BLUE}, serviceSelector: {a: b}}`,
    /serviceSelector\.a: "b": write the labels below matchLabels/,
  ],
  [
    `{${BLUE}, namespaceSelector: {matchExpressions: [{key: a, operator: Is}]}}`,
    /namespaceSelector\.matchExpressions\[0\]\.operator: "Is": must be one of In/,
  ],
  [
    `{${BLUE}}, {name: blue, addresses: [10.0.0.1]}`,
    /addressPools\[1\]\.name: "blue": write each name/,
  ],
  [
    `{${BLUE}}, {name: red, addresses: [10.0.0.1, 192.0.2.9]}`,
    /addressPools\[1\]\.addresses\[1\]: "192\.0\.2\.9": 192\.0\.2\.9 overlaps 192\.0\.2\.0\/24 of the pool blue; write each/,
  ],
  [
    `192.0.2.9, {${BLUE}}`,
    /addressPools\[1\]\.addresses\[0\]: .*overlaps 192\.0\.2\.9; write each/,
  ],
])('%s is refused with field, value and remedy', async (list, message) => {
  const result = await load(pools(list))
  const text = result.ok ? '' : result.problems.map(describeFault).join('\n')
  expect(text).toMatch(message)
})

test('a class is a name, and by default empty', async () => {
  expect((await loaded('')).loadBalancer.loadBalancerClass).toBe('')
  const { loadBalancer } = await loaded('', '--load-balancer-class=example.com/internal')
  expect(loadBalancer.loadBalancerClass).toBe('example.com/internal')
  const result = await load('', '--load-balancer-class=a b')
  expect(result.ok ? [] : result.problems.map(describeFault)).toEqual([
    '--load-balancer-class: "a b": write a name such as example.com/internal',
  ])
})
