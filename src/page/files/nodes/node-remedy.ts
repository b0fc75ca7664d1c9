import type { NodeFailure } from './node-reading.ts'

/** A command that a reader may run. */
export interface Remedy {
  readonly text: string
  /** Empty: none. */
  readonly command: string
}

/** The command that gives a user the role with all permissions that the page needs. */
export const GRANT =
  'orchctl create clusterrolebinding page-readers --clusterrole=node-inspection-reader --serviceaccount=NAMESPACE:NAME'

/**
 * What to do about a node that cannot be read. Errors of a node-proxy have a code, also as a cause of a Status. Errors
 * of orch-server have none; if the node is at fault, their message has the remedy.
 */
export function nodeRemedy(name: string, { status, code }: NodeFailure): Remedy {
  if (status === 0) return { text: 'There was no answer in time; it is read again.', command: '' }
  if (code !== '') {
    return { text: 'The node-proxy answered with this error; it is read again.', command: '' }
  }
  if (status === 403) {
    return { text: 'Your user may not get nodes/proxy of this node.', command: GRANT }
  }
  if (status === 404) {
    const text = 'The Node is gone, or this orch-server forwards no requests to nodes.'
    return { text, command: '' }
  }
  const word = /^[\w.-]+$/.test(name) ? name : 'NAME'
  return {
    text: 'Once that is done, this shows whether orch-server can read the node:',
    command: `kubectl get --raw /api/v1/nodes/${word}/proxy/inspection/v1/status`,
  }
}
