import { request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { systemClock } from '../../lib/clock.ts'
import type { ProbeResult } from '../state/pod-event.ts'
import type { ProbeTarget } from './protocol.ts'

/**
 * Runs one probe; a failure of any kind is a result. A TCP connection passes when it is
 * accepted, an HTTP request when the status is 200 to 399; a redirect is not
 * followed, a certificate is not checked, a body is not read.
 */
export function runProbe(target: ProbeTarget, timeoutMs: number): Promise<ProbeResult> {
  const { promise, resolve } = Promise.withResolvers<ProbeResult>()
  const late = new AbortController()
  const settle = (fault: string): void => {
    cancel()
    resolve(fault === '' ? { outcome: 'pass', message: '' } : { outcome: 'fail', message: fault })
  }
  const cancel = systemClock.after(timeoutMs, () => {
    settle(`no answer within ${timeoutMs / 1000} s`)
    late.abort()
  })
  try {
    if (target.kind === 'tcp') probeTcp(target, late.signal, settle)
    else probeHttp(target, late.signal, settle)
  } catch (error) {
    settle(String(error))
  }
  return promise
}

type Settle = (fault: string) => void

function probeTcp({ host, port }: ProbeTarget, signal: AbortSignal, settle: Settle): void {
  const socket = connect({ host, port })
  signal.addEventListener('abort', () => socket.destroy())
  socket.on('error', ({ message }) => settle(message))
  socket.on('connect', () => {
    settle('')
    socket.destroy()
  })
}

function probeHttp(
  { host, port, isSecure, path, headers }: Extract<ProbeTarget, { readonly kind: 'http' }>,
  signal: AbortSignal,
  settle: Settle,
): void {
  const given = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]))
  const options: RequestOptions = {
    host,
    port,
    path,
    signal,
    agent: false,
    headers: { 'user-agent': 'node-agent-probe', ...given, connection: 'close' },
  }
  const sent = isSecure
    ? httpsRequest({ ...options, rejectUnauthorized: false })
    : httpRequest(options)
  sent.on('error', ({ message }) => settle(message))
  sent.on('response', ({ statusCode = 0 }) => {
    settle(statusCode >= 200 && statusCode < 400 ? '' : `HTTP status ${statusCode}`)
    sent.destroy()
  })
  sent.end()
}
