import { expect, it } from 'vitest'
import { parseIp } from '../../lib/ip.ts'
import type { OrchServerConfiguration } from './configuration.ts'
import { refuseForeignBind } from './loopback-only.ts'

function bind(address: string): void {
  refuseForeignBind({ bindAddress: parseIp(address) } as OrchServerConfiguration)
}

it.each(['127.0.0.1', '127.255.0.9', '::1'])('%s is of the loopback', (address) => {
  expect(() => bind(address)).not.toThrow()
})

it.each(['0.0.0.0', '::', '128.0.0.1', '192.0.2.1', 'fd00::1'])('%s is refused', (address) => {
  expect(() => bind(address)).toThrow(
    expect.objectContaining({ code: 'NP_ORCHSERVER_BIND', object: address }),
  )
})
