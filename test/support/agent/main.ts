import { readFileSync, writeFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { endFastCalls } from '../../../src/kernel/sockets/fast-calls.ts'
import { connectEach, connectMany, connectTimed, KeptConnections, Load } from './clients.ts'
import { enterNamespace } from './enter.ts'
import type { Explainer } from './explain.ts'
import { HeldConnections } from './held.ts'
import { Listeners } from './listeners.ts'
import type { AgentCalls, AgentReply, AgentRequest } from './protocol.ts'

/** The agent of one namespace: a thread in that namespace, which gets its requests as messages. */
const listeners = new Listeners()
let explainer: Promise<Explainer> | undefined
const kept = new KeptConnections()
const loads: Load[] = []
const held: HeldConnections[] = []

async function serve(request: AgentRequest): Promise<unknown> {
  switch (request.op) {
    case 'listen':
      return listeners.add(request.params)
    case 'unlisten':
      return listeners.remove(request.params)
    case 'heard':
      return listeners.heard(request.params)
    case 'unlistenAll':
      return listeners.removeAll()
    case 'connect':
      return connectMany(request.params)
    case 'connectEach':
      return connectEach(request.params)
    case 'connectTimed':
      return connectTimed(request.params)
    case 'explain':
      explainer ??= loadExplainer()
      return (await explainer).explain(request.params)
    case 'open':
      return kept.open(request.params)
    case 'ping':
      return kept.ping(request.params.id, request.params.timeoutMs)
    case 'resetOpen':
      return kept.reset()
    case 'loadStart':
      return { id: loads.push(new Load(request.params, request.params.intervalMs)) - 1 }
    case 'loadStop':
      return loads[request.params.id]?.stop(request.params.atLeast ?? 0)
    case 'holdOpen':
      return hold(request.params)
    case 'holdCheck':
      return held[request.params.id]?.check()
    case 'holdReport':
      return held[request.params.id]?.report()
    case 'holdEnd':
      return held[request.params.id]?.end(request.params.how, request.params.name)
    case 'addresses':
      return (await import('./addresses.ts')).listAddresses()
    case 'http':
      return (await import('./http.ts')).exchange(request.params)
    case 'read':
      return readFileSync(request.params.path, 'utf8')
    case 'write':
    default:
      writeFileSync(request.params.path, request.params.text)
      return null
  }
}

/** Loaded on demand: few agents explain packets, and loading this would take most of the start of an agent. */
async function loadExplainer(): Promise<Explainer> {
  return new (await import('./explain.ts')).Explainer()
}

async function hold(params: AgentCalls['holdOpen']['params']) {
  const connections = await HeldConnections.open(params, params)
  return { id: held.push(connections) - 1, ...connections.report() }
}

endFastCalls()
enterNamespace((workerData as { readonly namespace: string }).namespace)
parentPort?.on('message', (request: AgentRequest) => {
  const reply = (message: AgentReply): void => parentPort?.postMessage(message)
  serve(request).then(
    (result) => reply({ id: request.id, result }),
    (error: unknown) => reply({ id: request.id, error: String(error) }),
  )
})
