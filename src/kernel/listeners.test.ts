import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { ProcListeners, parseSctpTable, parseSocketTable } from './listeners.ts'

const TCP = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 0A00020F:0016 0202000A:C822 01 00000000:00000000 00:00000000 00000000     0        0 2 1
`
const TCP6 = `  sl  local_address                         remote_address                        st tx_queue
   0: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000
   1: B80D0120000000000000000001000000:0051 00000000000000000000000000000000:0000 0A 00000000:00000000
`

test('reads listeners of both families, and no connections', () => {
  expect(parseSocketTable(TCP, 'TCP')).toEqual([{ protocol: 'TCP', ip: '127.0.0.1', port: 8080 }])
  expect(parseSocketTable(TCP6, 'TCP')).toEqual([
    { protocol: 'TCP', ip: '::', port: 80 },
    { protocol: 'TCP', ip: '2001:db8::1', port: 81 },
  ])
  expect(parseSocketTable(TCP, 'UDP')).toEqual([])
  expect(parseSocketTable('nonsense\n\n', 'TCP')).toEqual([])
})

test('reads SCTP endpoints', () => {
  const text = ` ENDPT     SOCK   STY SST HBKT LPORT   UID INODE LADDRS
ffff8f00 ffff8f01 2   10  29   8081     0 18023 10.0.0.1 fd00::1
`
  expect(parseSctpTable(text)).toEqual([
    { protocol: 'SCTP', ip: '10.0.0.1', port: 8081 },
    { protocol: 'SCTP', ip: 'fd00::1', port: 8081 },
  ])
})

test('sees real sockets', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const listeners = new ProcListeners().list()
  expect(listeners).toContainEqual({ protocol: 'TCP', ip: '127.0.0.1', port })
  expect(listeners).toContainEqual({
    protocol: 'UDP',
    ip: '127.0.0.1',
    port: socket.address().port,
  })
  server.close()
  socket.close()
})

test('without the files of /proc the list is empty', () => {
  expect(new ProcListeners('/nonexistent').list()).toEqual([])
})
