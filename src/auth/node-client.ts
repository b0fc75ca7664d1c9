/** The user as whom orch-server reads nodes for its clients; no person has it. */
export const NODE_CLIENT = 'system:orch-server-node-client'

/** The built-in role by which it may. */
export const NODE_READER_ROLE = 'system:node-inspection-reader'
