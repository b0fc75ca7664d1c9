import type { StreamedSubresource } from '../../resource/resource.ts'

/** What of a Pod is a stream. GET opens a WebSocket, POST a session of SPDY/3.1. */
export const podStreams: readonly StreamedSubresource[] = [
  { name: 'attach', kind: 'PodAttachOptions', methods: ['GET', 'POST'] },
  { name: 'exec', kind: 'PodExecOptions', methods: ['GET', 'POST'] },
  { name: 'log', kind: 'Pod', methods: ['GET'] },
  { name: 'portforward', kind: 'PodPortForwardOptions', methods: ['GET', 'POST'] },
]
