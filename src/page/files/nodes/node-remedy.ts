import type { NodeFailure } from './node-reading.ts'

/** A command that a reader may run. */
export interface Remedy {
  readonly text: string
  /** Empty: none. */
  readonly command: string
}

/** The role that holds all that the page reads, and how a user gets it. */
export const GRANT =
  'orchctl create clusterrolebinding page-readers --clusterrole=node-inspection-reader --serviceaccount=NAMESPACE:NAME'

/** What to do about a node that cannot be read. Errors of a node-proxy have a code; those of orch-server have none. */
export function nodeRemedy(name: string, { status, code }: NodeFailure): Remedy {
  const word = /^[\w.-]+$/.test(name) ? name : 'NAME'
  const isOfNode = code !== ''
  if (status === 0) return { text: 'orch-server did not answer; it is read again.', command: '' }
  if (status === 401 && isOfNode) {
    return {
      text: 'The node-proxy does not accept the certificate of orch-server: its inspection.clientCAFile must be pki/ca.crt of the data directory of orch-server.',
      command: '',
    }
  }
  if (status === 403 && isOfNode) {
    return {
      text: 'The node-proxy does not let orch-server read: the user of its certificate may not get nodes/proxy.',
      command: '',
    }
  }
  if (status === 403) {
    return { text: 'Your user may not get nodes/proxy of this node.', command: GRANT }
  }
  if (status === 404) {
    return {
      text: 'The Node is gone, or this orch-server forwards no requests to nodes.',
      command: '',
    }
  }
  if (isOfNode)
    return { text: 'The node-proxy answered with this error; it is read again.', command: '' }
  return {
    text: 'The node-proxy must serve inspection.bindAddress with a certificate for the InternalIP of its Node. This makes one:',
    command: `orch-server node-certificate --node ${word} --address INTERNAL-IP --output ${word}-tls`,
  }
}
