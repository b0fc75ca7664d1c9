import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../../lib/json.ts'
import { SERVICES, service, startApi, type TestApi } from '../../testing/test-api.ts'

const BOTH = ['10.96.0.0/16', 'fd00:96::/112']
const [V4, V6, DUAL] = [['IPv4'], ['IPv6'], ['IPv4', 'IPv6']]
const HEADLESS = { clusterIP: 'None' }
const SELECTED = { ...HEADLESS, selector: { app: 'web' } }

async function change(api: TestApi, spec: JsonObject): Promise<JsonObject> {
  const headers = { 'content-type': 'application/merge-patch+json' }
  return (await api.call('PATCH', `${SERVICES}/web`, { body: { spec }, headers })).body
}

test.each<[readonly string[], JsonObject, readonly string[], string]>([
  [BOTH, {}, V4, 'SingleStack'],
  [BOTH, { ipFamilies: V6 }, V6, 'SingleStack'],
  [BOTH, { ipFamilyPolicy: 'PreferDualStack' }, DUAL, 'PreferDualStack'],
  [
    BOTH,
    { ipFamilies: V6, ipFamilyPolicy: 'RequireDualStack' },
    ['IPv6', 'IPv4'],
    'RequireDualStack',
  ],
  [BOTH, SELECTED, V4, 'SingleStack'],
  [BOTH, { ...SELECTED, ipFamilyPolicy: 'PreferDualStack' }, DUAL, 'PreferDualStack'],
  [BOTH, HEADLESS, DUAL, 'RequireDualStack'],
  [BOTH, { ...HEADLESS, ipFamilies: V6 }, V6, 'SingleStack'],
  [BOTH.slice(0, 1), { ipFamilyPolicy: 'PreferDualStack' }, V4, 'PreferDualStack'],
  [BOTH.slice(0, 1), HEADLESS, V4, 'SingleStack'],
  [BOTH.slice(0, 1), { ...HEADLESS, ipFamilies: V6 }, V6, 'SingleStack'],
])('in ranges %j, %j has the families %j and is %s', async (ranges, spec, families, policy) => {
  const api = await startApi({ serviceAddressRanges: ranges })
  const made = objectAt(await api.make(SERVICES, service('web', spec)), 'spec')
  expect([made['ipFamilies'], made['ipFamilyPolicy']]).toEqual([families, policy])
  if (made['clusterIP'] !== 'None') expect(made['clusterIPs']).toHaveLength(families.length)
})

test.each<[readonly string[], JsonObject, string]>([
  [
    BOTH,
    { ipFamilies: DUAL, ipFamilyPolicy: 'SingleStack' },
    'spec.ipFamilyPolicy: Invalid value: "SingleStack"',
  ],
  [
    BOTH,
    { clusterIP: 'fd00:96::9', ipFamilies: V4 },
    'must be the family of spec.clusterIPs[0], fd00:96::9',
  ],
  [BOTH.slice(0, 1), { ipFamilies: V6 }, 'spec.ipFamilies: Invalid value: "IPv6"'],
  [BOTH.slice(0, 1), { ...SELECTED, ipFamilies: V6 }, 'spec.ipFamilies: Invalid value: "IPv6"'],
  [BOTH.slice(0, 1), { ...SELECTED, ipFamilyPolicy: 'RequireDualStack' }, 'spec.ipFamilyPolicy'],
])('in ranges %j, %j is refused: %s', async (ranges, spec, why) => {
  const api = await startApi({ serviceAddressRanges: ranges })
  const answer = await api.call('POST', SERVICES, { body: service('web', spec) })
  expect([answer.status, answer.body['message']]).toEqual([422, expect.stringContaining(why)])
})

test('a second family comes and goes with the policy, the primary address stays', async () => {
  const api = await startApi({ serviceAddressRanges: BOTH })
  const made = await api.make(SERVICES, service('web'))
  const primary = stringAt(made, 'spec', 'clusterIP')
  const dual = await change(api, { ipFamilyPolicy: 'PreferDualStack' })
  expect(arrayAt(dual, 'spec', 'clusterIPs')).toEqual([primary, expect.stringMatching(/^fd00:96:/)])
  const single = await change(api, { ipFamilyPolicy: 'SingleStack' })
  expect(objectAt(single, 'spec')).toMatchObject({ clusterIPs: [primary], ipFamilies: V4 })
  const [, second = ''] = arrayAt(dual, 'spec', 'clusterIPs')
  await api.make(SERVICES, service('next', { clusterIP: second }))
})

test('a request that adds the second family may name its address, if it is free and in range', async () => {
  const api = await startApi({ serviceAddressRanges: BOTH })
  const made = await api.make(SERVICES, service('web'))
  await api.make(SERVICES, service('other', { clusterIP: 'fd00:96::7' }))
  const primary = stringAt(made, 'spec', 'clusterIP')
  const upgrade = (second: string) =>
    change(api, { ipFamilyPolicy: 'PreferDualStack', clusterIPs: [primary, second] })
  expect(valueAt(await upgrade('fd00:96::7'), 'message')).toContain('is already allocated')
  expect(valueAt(await upgrade('fd00:97::7'), 'message')).toContain('not in the valid range')
  expect(objectAt(await upgrade('fd00:96::8'), 'spec')).toMatchObject({
    clusterIP: primary,
    clusterIPs: [primary, 'fd00:96::8'],
    ipFamilies: DUAL,
  })
  const rival = service('rival', { clusterIP: 'fd00:96::8' })
  expect((await api.call('POST', SERVICES, { body: rival })).status).toBe(422)
})

test('neither the primary family nor any address may change', async () => {
  const api = await startApi({ serviceAddressRanges: BOTH })
  const made = await api.make(SERVICES, service('web', { ipFamilyPolicy: 'PreferDualStack' }))
  const [primary = ''] = arrayAt(made, 'spec', 'clusterIPs')
  for (const spec of [{ ipFamilies: V6 }, { clusterIPs: null, ipFamilies: ['IPv6', 'IPv4'] }]) {
    expect((await change(api, spec))['code']).toBe(422)
  }
  const moved = await change(api, { clusterIPs: [primary, 'fd00:96::1234'] })
  expect(valueAt(moved, 'message')).toContain('may not change once set')
})
