package turn

import "github.com/troupe-dev/troupe"

// Allowed is the status machine: whether an event of kind k may follow while a session has
// this status. Apply checks the finer conditions (which call, which run) on top. The
// diagram and the table in docs/state.md show the same; tests compare them.
//
// The empty status is a session before its first event.
func Allowed(st troupe.Status, w troupe.WaitReason, k troupe.Kind) bool {
	if k == troupe.KindHookRan {
		return st != "" // what runs beside a session may end whenever it does
	}
	if k == troupe.KindWorkspaceReady || k == troupe.KindWorkspaceSaved || k == troupe.KindWorkspaceChanged ||
		k == troupe.KindWorkspaceMerged {
		return st.Live() && st != troupe.Spawning // so may what is done to its folder, within a run
	}
	if k == troupe.KindHandoffJudged {
		return st.Live() && st != troupe.Spawning // the run may have gone on meanwhile
	}
	if k == troupe.KindSlept || k == troupe.KindWoke || k == troupe.KindImported ||
		k == troupe.KindSessionChanged {
		return st != "" // it stands still as it is; Apply knows whether it is asleep
	}
	if k == troupe.KindQueued {
		return st == troupe.Spawning || st.Ended() && st != ""
	}
	switch st {
	case "":
		return k == troupe.KindCreated
	case troupe.Spawning:
		// It is handed its prompt, and may be stopped or change hands, before it ever ran.
		return k == troupe.KindStarted || k == troupe.KindEnded || k == troupe.KindMailDelivered ||
			k == troupe.KindModelChanged || k == troupe.KindAuthorityChanged || k == troupe.KindSettingsChanged ||
			k == troupe.KindBoardChanged || k == troupe.KindTeamChanged
	case troupe.Running:
		return k != troupe.KindCreated && k != troupe.KindStarted && k != troupe.KindQueued &&
			k != troupe.KindReplied && k != troupe.KindModelFailed && k != troupe.KindCompacted
	case troupe.Waiting:
		return allowedWaiting(w, k)
	case troupe.Completed, troupe.Failed, troupe.Cancelled, troupe.MaxTurns:
		// Mail that asks for something stays in the mailbox until a run has begun that can
		// answer it.
		return k == troupe.KindStarted || k == troupe.KindModelChanged || k == troupe.KindAuthorityChanged ||
			k == troupe.KindMailDelivered || k == troupe.KindSettingsChanged || k == troupe.KindBoardChanged ||
			k == troupe.KindTeamChanged
	default:
		return false
	}
}

func allowedWaiting(w troupe.WaitReason, k troupe.Kind) bool {
	switch k {
	case troupe.KindAuthorityChanged, troupe.KindMailDelivered, troupe.KindModelChanged, troupe.KindSettingsChanged,
		troupe.KindBoardChanged, troupe.KindTeamChanged:
		return true
	case troupe.KindReplied, troupe.KindModelFailed, troupe.KindCompacted:
		return w == troupe.WaitModel
	case troupe.KindCallSealed, troupe.KindBudgetWarned:
		// The next attempt after a failed one, or what woke a session that waited for mail.
		return w == troupe.WaitModel || w == troupe.WaitMail
	case troupe.KindToolJudged, troupe.KindToolStarted, troupe.KindToolFinished, troupe.KindRequestOpened,
		troupe.KindRequestAnswered, troupe.KindAutoAsked, troupe.KindAutoJudged, troupe.KindVerifyEnded:
		return w == troupe.WaitApproval || w == troupe.WaitQuestion || w == troupe.WaitChildren
	case troupe.KindEnded:
		// Calls must have had their results first, which ends every other kind of waiting.
		return w == troupe.WaitModel || w == troupe.WaitMail
	case troupe.KindCreated, troupe.KindStarted, troupe.KindQueued, troupe.KindHookRan, troupe.KindWorkspaceReady,
		troupe.KindWorkspaceSaved, troupe.KindWorkspaceChanged, troupe.KindWorkspaceMerged, troupe.KindHandoffAsked,
		troupe.KindHandoffJudged, troupe.KindVerifyStarted, troupe.KindSlept, troupe.KindWoke, troupe.KindImported,
		troupe.KindSessionChanged:
		return false
	}
	return false
}

func describe(st troupe.Status, w troupe.WaitReason) string {
	if st == "" {
		return "not born yet"
	}
	return st.For(w)
}
