import { describe, expect, test } from 'vitest'
import type { Decoded } from './problem.ts'
import { decodeService } from './service.ts'
import { placesOf, problemsOf, rawService, sound, valueOf } from './testing/raw-objects.ts'
import type { Service } from './types.ts'

const ORCH = 'service.beta.orch.io/load-balancer-source-ranges'
const KUBERNETES = 'service.beta.kubernetes.io/load-balancer-source-ranges'

function decoded(field: unknown, annotations: Record<string, unknown> = {}): Decoded<Service> {
  const spec = { type: 'LoadBalancer', loadBalancerSourceRanges: field }
  return decodeService(rawService({ metadata: { annotations }, spec }))
}

describe('every client is admitted when nothing is configured', () => {
  test.each<[unknown, Record<string, unknown>]>([
    [undefined, {}],
    [null, {}],
    [[], {}],
    [[], { [ORCH]: '' }],
    [[], { [ORCH]: ' ', [KUBERNETES]: '\t' }],
  ])('%j %j', (field, annotations) => {
    expect(sound(decoded(field, annotations)).loadBalancerSourceRanges).toBeUndefined()
  })
})

describe('ranges that are given', () => {
  test.each<[unknown, Record<string, unknown>, readonly string[]]>([
    [['10.0.0.0/8'], {}, ['10.0.0.0/8']],
    [[' 10.1.2.3/8 ', '10.0.0.0/8'], {}, ['10.0.0.0/8']],
    [['0.0.0.0/0', '::/0'], {}, ['0.0.0.0/0', '::/0']],
    [['192.0.2.7'], {}, ['192.0.2.7/32']],
    [['fd00::/8'], {}, ['fd00::/8']],
    [undefined, { [ORCH]: '10.0.0.0/8, fd00::/8' }, ['10.0.0.0/8', 'fd00::/8']],
    [[], { [KUBERNETES]: ' 10.0.0.0/8 ' }, ['10.0.0.0/8']],
    [[], { [ORCH]: '10.0.0.0/8', [KUBERNETES]: '11.0.0.0/8' }, ['10.0.0.0/8']],
    [[], { [ORCH]: ' ', [KUBERNETES]: '11.0.0.0/8' }, ['11.0.0.0/8']],
    [['10.0.0.0/8'], { [ORCH]: '0.0.0.0/0' }, ['10.0.0.0/8']],
  ])('%j %j', (field, annotations, ranges) => {
    expect(sound(decoded(field, annotations)).loadBalancerSourceRanges).toEqual(ranges)
  })
})

describe('an unreadable value never admits a client', () => {
  const field = 'spec.loadBalancerSourceRanges'
  test.each<[unknown, Record<string, unknown>, readonly string[], readonly string[]]>([
    [['x', '10.0.0.0/8'], {}, ['10.0.0.0/8'], [`${field}[0] "x"`]],
    [['010.0.0.0/33'], {}, [], [`${field}[0] "010.0.0.0/33"`]],
    [['10.0.0.0/33', '::/129'], {}, [], [`${field}[0] "10.0.0.0/33"`, `${field}[1] "::/129"`]],
    [[null], {}, [], [`${field}[0] null`]],
    [[''], {}, [], [`${field}[0] ""`]],
    [[['10.0.0.0/8']], {}, [], [`${field}[0] ["10.0.0.0/8"]`]],
    ['10.0.0.0/8', {}, [], [`${field} "10.0.0.0/8"`]],
    [{}, {}, [], [`${field} {}`]],
    [0, {}, [], [`${field} 0`]],
    [['x'], { [ORCH]: '0.0.0.0/0' }, [], [`${field}[0] "x"`]],
    [[], { [ORCH]: '10.0.0.0/8,' }, ['10.0.0.0/8'], [`metadata.annotations[${ORCH}] ""`]],
    [[], { [KUBERNETES]: 'everyone' }, [], [`metadata.annotations[${KUBERNETES}] "everyone"`]],
    [[], { [ORCH]: ',' }, [], [`metadata.annotations[${ORCH}] ""`]],
    [[], { [ORCH]: ['10.0.0.0/8'] }, [], [`metadata.annotations[${ORCH}] ["10.0.0.0/8"]`]],
    [[], { [ORCH]: 'x', [KUBERNETES]: '0.0.0.0/0' }, [], [`metadata.annotations[${ORCH}] "x"`]],
  ])('%j %j', (given, annotations, ranges, places) => {
    const result = decoded(given, annotations)
    expect(valueOf(result).loadBalancerSourceRanges).toEqual(ranges)
    expect(placesOf(problemsOf(result))).toEqual(places)
  })
})
