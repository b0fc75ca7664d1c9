import { create } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { ServiceTrafficSchema } from '../../inspection/generated/inspection_pb.ts'
import { trafficHeader, trafficText } from './traffic-command.ts'

test('columns under their titles, a line for each backend, `-` where nothing is counted', () => {
  const service = create(ServiceTrafficSchema, {
    service: 'shop/web',
    total: { connections: 30n, bytesIn: 4_000_000_000n },
    backends: [
      { entry: 'shop/web:http/TCP/6', ip: 'fd00::1', port: 80, traffic: { connections: 0n } },
      { entry: 'shop/web:/UDP/4', ip: '10.0.0.1', port: 53 },
    ],
  })
  const text = `${trafficHeader()}${trafficText(service)}`
  expect(text.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['SERVICE', 'CONNECTIONS', 'NOW', 'PACKETS-IN', 'BYTES-IN', 'PACKETS-OUT', 'BYTES-OUT'],
    ['shop/web', '30', '-', '-', '4000000000', '-', '-'],
    ['', '[fd00::1]:80 http/TCP', '0', '-', '-', '-', '-', '-'],
    ['', '10.0.0.1:53 UDP', '-', '-', '-', '-', '-', '-'],
    [''],
  ])
  const ends = text.split('\n').map((line) => line.length)
  expect(new Set(ends.slice(0, -1)).size, 'every line has the same width').toBe(1)
})
