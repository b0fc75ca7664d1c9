import { expect, test } from 'vitest'
import { createAddressRange } from '../../allocation/address-range.ts'
import { apiServicesOf } from './api-services.ts'

test.each([
  ['10.96.0.0/16', ['kubernetes 10.96.0.1', 'orch 10.96.0.2']],
  ['fd00::/112', ['kubernetes fd00::1', 'orch fd00::2']],
  ['fd00::/127', ['kubernetes fd00::1']],
])('in the range %s the Services of the API are %j', (cidr, expected) => {
  const apiServices = apiServicesOf(createAddressRange(cidr))
  expect(apiServices.map(({ name, ip }) => `${name} ${ip}`)).toEqual(expected)
})
