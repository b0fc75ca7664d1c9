import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that records the audit events that are posted to it. */
export interface AuditWebhook extends AsyncDisposable {
  readonly url: string
  /** The posted bodies, in order. */
  readonly bodies: readonly Buffer[]
}

/** The kubeconfig by which an orch-server reaches a webhook. */
export function webhookKubeconfig(server: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c' } }],
    clusters: [{ name: 'c', cluster: { server } }],
  })
}

export async function startAuditWebhook(): Promise<AuditWebhook> {
  const bodies: Buffer[] = []
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => bodies.push(chunk))
    request.on('end', () => response.end('{}'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    bodies,
    url: `http://127.0.0.1:${port}/events`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
