package local

// Policy says what answers without a snapshot, while the service is away.
type Policy string

// The policies: allowed, denied, an error.
const (
	Open   Policy = "open"
	Closes Policy = "closed"
	Fail   Policy = "fail"
)

// Verdict is the snapshot that answers; or, for all checks alike, what answers instead of one.
type Verdict struct {
	Snapshot *Snapshot
	Allowed  bool
	Reason   string
	// IsOfService says that the service said so; else a policy answers.
	IsOfService bool
}

// noSnapshotError says that there is no snapshot yet.
type noSnapshotError struct{}

func (noSnapshotError) Error() string { return "keyshelf: the service has not answered yet" }

// IsAway is true.
func (noSnapshotError) IsAway() bool { return true }

// Verdict is what answers in a state. An error fails the call.
func (view View) Verdict(policy Policy) (Verdict, error) {
	switch view.State {
	case Closed:
		return Verdict{}, ErrClosed
	case Revoked:
		return Verdict{Reason: "ACCESS_REVOKED", IsOfService: true}, nil
	case Starting, None:
		if err := view.Refusal(); err != nil {
			return Verdict{}, err
		}
		if policy == Fail && view.Err != nil {
			return Verdict{}, view.Err
		}
		if policy == Fail {
			return Verdict{}, noSnapshotError{}
		}
		return Verdict{Allowed: policy == Open, Reason: "NO_SNAPSHOT"}, nil
	case Expired:
		if !view.Snapshot.Allows() {
			return Verdict{Reason: "SNAPSHOT_EXPIRED"}, nil
		}
	}
	return Verdict{Snapshot: view.Snapshot}, nil
}

// Refusal is what the service, or the configuration, said before any snapshot was held: a wrong token must be seen.
func (view View) Refusal() error {
	if (view.State == None || view.State == Starting) && view.Err != nil && !isAway(view.Err) {
		return view.Err
	}
	return nil
}
