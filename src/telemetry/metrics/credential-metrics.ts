import type { MetricDefinition } from './definition.ts'

/** Of the credentials with which a program authenticates to the API server. */
export const credentialMetrics = {
  credentialExpiration: {
    name: 'client_credential_expiration_timestamp_seconds',
    type: 'gauge',
    labels: ['kind'],
    help: 'When the credential expires with which the program last authenticated: certificate, token (of the kubeconfig), token-file or exec; the last two are renewed by others. Absent for one that names no end.',
  },
  credentialLate: {
    name: 'client_credential_late_timestamp_seconds',
    type: 'gauge',
    labels: ['kind'],
    help: 'From when on the credential should have been renewed: when a fifth of its life is left (token-file: a tenth, exec: nothing).',
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>
