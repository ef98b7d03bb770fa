import { type Given, mustResolve } from '../given.ts'
import type { Problem } from '../schemas/problem.ts'

/** Which selected agents think with a model that the policy does not allow. The Coordinator advises no other. */
export function routingBreaches({ intent, policy, index }: Given): Problem[] {
  const { local_only, allowed_providers } = policy.model_routing
  return intent.selected_agents.flatMap(({ agent_id, version }) => {
    const { model } = mustResolve(index, 'agent', agent_id, version)
    const problems: Problem[] = []
    const refuse = (message: string) => problems.push({ code: 'model_routing_breach', message, refs: [agent_id] })
    if (local_only && model.locality !== 'local')
      refuse(
        `${agent_id} thinks with a ${model.locality} model of ${model.provider}; the policy allows local models only.`,
      )
    if (allowed_providers !== undefined && !allowed_providers.includes(model.provider))
      refuse(
        `${agent_id} uses the provider ${model.provider}; the policy allows ${allowed_providers.join(', ') || 'none'}.`,
      )
    return problems
  })
}
