import { readFile } from 'node:fs/promises'
import { type Document, parseDocument } from 'yaml'
import { NodeProxyError } from '../../lib/error.ts'

const SIZE_LIMIT = 4 * 1024 * 1024

/**
 * The YAML (or JSON) of a kubeconfig of at most 4 MiB. Errors contain line and column, but never the text, because it
 * contains secrets.
 * @throws NP_CLIENT_KUBECONFIG
 */
export async function readKubeconfigDocument(file: string): Promise<Document> {
  const document = parseDocument(await readText(file), { prettyErrors: true, logLevel: 'silent' })
  const error = document.errors[0]
  if (error !== undefined) {
    const { line, col } = error.linePos?.[0] ?? { line: 1, col: 1 }
    const message = `not YAML at line ${line}, column ${col} (${error.code})`
    throw new NodeProxyError('NP_CLIENT_KUBECONFIG', message, { object: file })
  }
  return document
}

/** The document as a plain value. @throws NP_CLIENT_KUBECONFIG for too many aliases */
export function kubeconfigValue(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch {
    const message = 'too many YAML aliases, or an alias without its anchor'
    throw new NodeProxyError('NP_CLIENT_KUBECONFIG', message, { object: file })
  }
}

async function readText(file: string): Promise<string> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    const message = `the kubeconfig ${JSON.stringify(file)} cannot be read`
    throw new NodeProxyError('NP_CLIENT_KUBECONFIG', message, { object: file, cause })
  })
  if (bytes.length > SIZE_LIMIT) {
    const message = `the kubeconfig is larger than ${SIZE_LIMIT} bytes`
    throw new NodeProxyError('NP_CLIENT_KUBECONFIG', message, { object: file })
  }
  return bytes.toString('utf8')
}
