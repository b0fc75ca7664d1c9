import type { Command } from 'commander'
import type { JsonObject } from '../../lib/json.ts'
import { MAX_PORT } from '../../lib/port-range.ts'
import { quote } from '../../lib/quote.ts'
import type { CommandContext } from '../session/command-module.ts'
import { usageError } from '../usage/exit-code.ts'
import { repeated } from '../usage/global-flags.ts'
import { generates } from './generates.ts'

interface ServiceFlags {
  readonly tcp?: readonly string[]
  readonly clusterip?: string
  readonly nodePort?: string
  readonly externalName?: string
}

/** `orchctl create service clusterip|nodeport|loadbalancer|externalname NAME`. */
export function defineServices(create: Command, context: CommandContext): void {
  const service = create.command('service').alias('svc').description('Create a Service.')
  for (const type of ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'] as const) {
    const command = service
      .command(type.toLowerCase())
      .description(`Create a Service of type ${type} for Pods with the label app=NAME.`)
      .addOption(repeated('--tcp <port[:target]>', 'a port, and the port of the Pods'))
    if (type === 'ClusterIP') {
      command.option('--clusterip <address>', 'the address; None: a headless Service')
    }
    if (type === 'NodePort') command.option('--node-port <port>', 'the port of the nodes')
    if (type === 'ExternalName') {
      command.requiredOption('--external-name <name>', 'the DNS name that it is an alias of')
    }
    generates<ServiceFlags>(command, context, (name, flags) => serviceObject(name, type, flags))
  }
}

function serviceObject(name: string, type: string, flags: ServiceFlags): JsonObject {
  const { tcp = [], clusterip, nodePort, externalName } = flags
  if (tcp.length === 0 && type !== 'ExternalName' && clusterip !== 'None') {
    throw usageError('--tcp is missing', 'write --tcp=80:8080')
  }
  const labels = { app: name }
  const ports = tcp.map((text) => ({
    ...portOf(text),
    ...(nodePort === undefined ? {} : { nodePort: nodePortOf(nodePort) }),
  }))
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, labels },
    spec: {
      type,
      selector: labels,
      ...(ports.length === 0 ? {} : { ports }),
      ...(clusterip === undefined ? {} : { clusterIP: clusterip }),
      ...(externalName === undefined ? {} : { externalName }),
    },
  }
}

/** A number of a port; 0: the server chooses one. @throws NP_ORCHCTL_USAGE */
function nodePortOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= MAX_PORT) return Number(text)
  throw usageError(`--node-port ${quote(text)} is no port`, 'write a number such as 30080')
}

function portOf(text: string): JsonObject {
  const [, port, target = port] = /^(\d{1,5})(?::([\w-]+))?$/.exec(text) ?? []
  if (port === undefined || target === undefined) {
    throw usageError(`--tcp ${quote(text)} is no port`, 'write PORT or PORT:TARGET')
  }
  return {
    name: target === port ? port : `${port}-${target}`,
    port: Number(port),
    protocol: 'TCP',
    targetPort: /^\d+$/.test(target) ? Number(target) : target,
  }
}
