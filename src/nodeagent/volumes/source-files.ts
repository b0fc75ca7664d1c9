import { readFile } from 'node:fs/promises'
import type { ApiClient } from '../../client/http/api-client.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { podResolvConf } from '../../resources/resolver/pod-dns.ts'
import { formatResolvConf, parseResolvConf } from '../../resources/resolver/resolv-conf.ts'
import { fieldValue } from '../plan/pod-field.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import type { FileSource, ObjectSource } from '../plan/volume-plan.ts'
import { readObjectValues } from './object-values.ts'
import { podToken, type TokenTools } from './pod-token.ts'

/** What reads the sources of volumes. */
export interface SourceTools extends TokenTools {
  readonly client: Pick<ApiClient, 'get' | 'create'>
}

/** A file of a volume. */
export interface VolumeFile {
  readonly path: string
  readonly content: Buffer
  /** Undefined: that of the volume. */
  readonly mode: number | undefined
  /** A token: it is made readable for the user of the Pod alone. */
  readonly isToken: boolean
}

/** What a source gives. */
export interface SourceFiles {
  readonly files: readonly VolumeFile[]
  /** Until when these need not be read again, milliseconds since the epoch; 0: they may change at any time. */
  readonly validUntil: number
}

const NOWHERE = { podIPs: [], hostIP: '' }

/** Reads one source of a volume. Throws when something of it is missing; no message holds a value. */
export async function readSourceFiles(
  tools: SourceTools,
  pod: PodPlan,
  source: FileSource,
): Promise<SourceFiles> {
  switch (source.kind) {
    case 'token': {
      const { token, renewAt } = await podToken(tools, pod, source)
      const content = Buffer.from(token)
      const file = { path: source.path, content, mode: undefined, isToken: true }
      return { files: [file], validUntil: renewAt }
    }
    case 'fields': {
      const files = source.items.map(({ field, path, mode }) => {
        const content = Buffer.from(fieldValue(field, pod, NOWHERE))
        return { path, content, mode, isToken: false }
      })
      return { files, validUntil: 0 }
    }
    case 'resolver': {
      const host = parseResolvConf(await readHostFile(source.resolver.hostFile))
      const text = formatResolvConf(podResolvConf(source.dns, source.resolver, host))
      const file = { path: source.path, mode: undefined, isToken: false }
      return { files: [{ ...file, content: Buffer.from(text) }], validUntil: 0 }
    }
    case 'object':
      return { files: await objectFiles(tools, pod, source), validUntil: 0 }
  }
}

/** A node without the file resolves nothing by itself. */
async function readHostFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

async function objectFiles(
  { client }: SourceTools,
  { namespace }: PodPlan,
  source: ObjectSource,
): Promise<readonly VolumeFile[]> {
  const { resource, name, items, isOptional } = source
  const object = `${resource === 'secrets' ? 'secret' : 'configmap'} ${quote(name)}`
  const values = await readObjectValues(client, { namespace, resource, name })
  if (values === undefined) {
    if (isOptional) return []
    throw missing(`${object} not found: make it, or mark it as optional`, object)
  }
  const wanted = items ?? [...values.keys()].map((key) => ({ key, path: key, mode: undefined }))
  return wanted.flatMap(({ key, path, mode }) => {
    const content = values.get(key)
    if (content !== undefined) return [{ path, content, mode, isToken: false }]
    if (isOptional) return []
    throw missing(`${object} has no key ${quote(key)}`, object)
  })
}

function missing(message: string, object: string): NodeProxyError {
  return new NodeProxyError('NP_NODEAGENT_VOLUME', message, { object })
}
