import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { freePort } from './free-port.ts'

test('a port is given once, is below those of the kernel, and can be used at every address', async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, freePort))
  expect(new Set(ports).size).toBe(50)
  expect(Math.max(...ports)).toBeLessThan(32_768)
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject).listen(ports[0], '0.0.0.0', resolve)
  })
  server.close()
})
